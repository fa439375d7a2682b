/* SPDX-License-Identifier: Apache-2.0 */
/* Replays files, and all files of folders, through a harness. */
#include <dirent.h>
#include <errno.h>

#include "base/file.h"
#include "base/strs.h"
#include "fuzz.h"

static int replay(const char *path, struct err *err)
{
	AUTO(buf) struct buf text = BUF_INIT(64u << 20);
	AUTO_FREE uint8_t *exact = NULL;

	if (file_read(path, &text, err) < 0)
		return -1;
	/* Not one byte more than the input, so that a sanitizer sees a read past its end. */
	exact = malloc(text.len ? text.len : 1);
	if (!exact)
		return err_nomem(err);
	memcpy(exact, buf_text(&text), text.len);
	if (getenv("V"))
		(void)fprintf(stderr, "%s\n", path);
	(void)LLVMFuzzerTestOneInput(exact, text.len);
	return 0;
}

static int add_files(const char *path, struct strs *files, struct err *err)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int rc = 0;

	if (!dir)
		return errno == ENOTDIR ? strs_add(files, path, err)
					: err_os(err, errno, "cannot open \"%s\"", path);
	while (rc == 0 && (entry = readdir(dir))) {
		AUTO(buf) struct buf file = BUF_INIT(4096);

		if (entry->d_name[0] == '.')
			continue;
		buf_printf(&file, "%s/%s", path, entry->d_name);
		rc = strs_add(files, buf_text(&file), err);
	}
	(void)closedir(dir); /* only read */
	return rc;
}

int main(int argc, char **argv)
{
	AUTO(strs) struct strs files = STRS_INIT;
	struct err err = ERR_INIT;

	for (int i = 1; i < argc; i++)
		if (add_files(argv[i], &files, &err) < 0)
			goto fail;
	strs_sort(&files);
	if (!files.n)
		(void)err_set(&err, FAIL_USAGE, "no inputs: a corpus can not be empty");
	for (size_t i = 0; i < files.n; i++)
		if (replay(files.v[i], &err) < 0)
			break;
	if (err.fail == FAIL_NONE) {
		const char *name = strrchr(argv[0], '/');

		(void)printf("%s: %zu inputs\n", name ? name + 1 : argv[0], files.n);
		return 0;
	}
fail:
	(void)fprintf(stderr, "%s: %s\n", argv[0], err.msg);
	return 1;
}
