/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubectl etjob completion: scripts for shells, which all ask `kubectl-etjob __complete`;
 * kubectl asks a program kubectl_complete-etjob, which is this one under that name.
 */
#include "complete.h"

static const char bash_script[] =
	"# bash completion for kubectl-etjob; kubectl's own needs kubectl_complete-etjob on PATH\n"
	"_kubectl_etjob()\n"
	"{\n"
	"\tlocal line word directive=4 IFS=$'\\n'\n"
	"\tlocal -a words=(\"${COMP_WORDS[@]:1:COMP_CWORD}\")\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\t# bash parts words at = and : too; the last word is put together again\n"
	"\tlocal text=${COMP_LINE:0:COMP_POINT}\n"
	"\tlocal whole=${text##*[[:space:]]}\n"
	"\tlocal -a real=()\n"
	"\tIFS=$' \\t\\n' read -ra real <<<\"$text\"\n"
	"\treal=(\"${real[@]:1}\")\n"
	"\t[[ -n $whole ]] && real=(\"${real[@]:0:${#real[@]}-1}\")\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tif [[ $line == :* ]]; then directive=${line#:}; continue; fi\n"
	"\t\tword=${line%%$'\\t'*}\n"
	"\t\tCOMPREPLY+=(\"${word#\"${whole%\"$cur\"}\"}\")\n"
	"\tdone < <(kubectl-etjob __complete \"${real[@]}\" \"$whole\" 2>/dev/null)\n"
	"\tif ((directive == 0)); then compopt -o default; fi\n"
	"\tif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
	"}\n"
	"complete -F _kubectl_etjob kubectl-etjob\n";

static const char zsh_script[] =
	"#compdef kubectl-etjob\n"
	"# zsh completion for kubectl-etjob\n"
	"_kubectl_etjob() {\n"
	"\tlocal line directive=4\n"
	"\tlocal -a described\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tif [[ $line == :* ]]; then directive=${line#:}; continue; fi\n"
	"\t\tlocal word=${line%%$'\\t'*} help=''\n"
	"\t\t[[ $line == *$'\\t'* ]] && help=${line#*$'\\t'}\n"
	"\t\tdescribed+=(\"${word//:/\\\\:}:${help}\")\n"
	"\tdone < <(kubectl-etjob __complete \"${(@)words[2,CURRENT-1]}\" \"${words[CURRENT]}\" 2>/dev/null)\n"
	"\tif (( directive == 0 )); then _files; return; fi\n"
	"\t_describe 'kubectl-etjob' described\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _kubectl_etjob ]; then _kubectl_etjob \"$@\"; else compdef _kubectl_etjob "
	"kubectl-etjob; fi\n";

static const char fish_script[] =
	"# fish completion for kubectl-etjob\n"
	"function __kubectl_etjob_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l current (commandline -ct)\n"
	"\tfor line in (kubectl-etjob __complete $words[2..-1] \"$current\" 2>/dev/null)\n"
	"\t\tif string match -q ':*' -- $line\n"
	"\t\t\tif test $line = ':0'\n"
	"\t\t\t\t__fish_complete_path $current\n"
	"\t\t\tend\n"
	"\t\telse\n"
	"\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c kubectl-etjob -f -a '(__kubectl_etjob_complete)'\n";

static int completion_run(struct cmd_ctx *ctx, const void *opts, const struct opt_args *args,
			  struct err *err)
{
	const char *shell = args->v[0];

	(void)opts; /* it has none */
	if (str_eq(shell, "bash"))
		buf_str(&ctx->out, bash_script);
	else if (str_eq(shell, "zsh"))
		buf_str(&ctx->out, zsh_script);
	else if (str_eq(shell, "fish"))
		buf_str(&ctx->out, fish_script);
	else
		return err_set(err, FAIL_USAGE,
			       "\"%s\" is no shell that is known here: bash, zsh or fish", shell);
	return 0;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.group = GROUP_OTHER,
	.args = "bash|zsh|fish",
	.summary = "Print a completion script for a shell",
	.details =
		"The scripts complete kubectl-etjob. For kubectl etjob, kubectl's own completion asks a program "
		"kubectl_complete-etjob on the PATH: make a link of that name to kubectl-etjob.",
	.examples = "source <(kubectl etjob completion bash)\n"
		    "ln -s \"$(command -v kubectl-etjob)\" ~/bin/kubectl_complete-etjob",
	.nargs = { 1, 1 },
	.flags = CMD_NO_CLUSTER,
	.run = completion_run,
};
