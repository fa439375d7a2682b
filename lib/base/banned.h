/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned: functions this project does not call, each for a reason that has
 * bitten C programs before: no bounds (strcpy), no error (atoi), not reentrant
 * (strtok), a shell (system), an end nobody can catch (exit).
 * Included as the last line of base/defs.h. A place that has a good reason
 * wraps the name in parentheses, `(exit)(1)`, and says why in a comment with
 * the words "banned-ok: NAME reason".
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H
#define BANNED(func) sorry_##func##_is_a_banned_function

#undef strcpy
#define strcpy(d, s) BANNED(strcpy)
#undef strcat
#define strcat(d, s) BANNED(strcat)
#undef strncpy
#define strncpy(d, s, n) BANNED(strncpy)
#undef strncat
#define strncat(d, s, n) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef gets
#define gets(s) BANNED(gets)
#undef strtok
#define strtok(s, d) BANNED(strtok)
#undef sscanf
#define sscanf(...) BANNED(sscanf)
#undef atoi
#define atoi(s) BANNED(atoi)
#undef atol
#define atol(s) BANNED(atol)
#undef strerror
#define strerror(e) BANNED(strerror)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef mktemp
#define mktemp(t) BANNED(mktemp)
#undef tmpnam
#define tmpnam(s) BANNED(tmpnam)
#undef alloca
#define alloca(n) BANNED(alloca)
#undef system
#define system(c) BANNED(system)
#undef popen
#define popen(c, m) BANNED(popen)
#undef setenv
#define setenv(k, v, o) BANNED(setenv)
#undef exit
#define exit(n) BANNED(exit)
#endif
