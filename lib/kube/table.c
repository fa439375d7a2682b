/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/table.h"

#include "base/limits.h"
#include "base/strs.h"
#include "base/utf8.h"

#define GAP 3       /* blanks after the widest cell of a column */
#define MIN_WIDTH 6 /* of a column with its gap, as kubectl's printer has it */

struct range {
	uint32_t first, last;
};

/* In order, so that a search may stop early. Marks that add no cell, most used blocks. */
static const struct range zero_width[] = {
	{ 0x0300, 0x036f },   { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x064b, 0x065f },
	{ 0x0e31, 0x0e31 },   { 0x0e34, 0x0e3a }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
	{ 0x200b, 0x200f },   { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
	{ 0xe0100, 0xe01ef },
};
/* East Asian wide and emoji. */
static const struct range two_cells[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },
	{ 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

static uint32_t code_point(const char *s, size_t len)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t cp = (unsigned char)s[0] & first_bits[len];

	for (size_t i = 1; i < len; i++)
		cp = cp << 6 | ((unsigned char)s[i] & 0x3f);
	return cp;
}

static bool in_ranges(const struct range *r, size_t n, uint32_t cp)
{
	for (size_t i = 0; i < n && r[i].first <= cp; i++)
		if (cp <= r[i].last)
			return true;
	return false;
}

/* Cells that visible text takes on a terminal. */
static size_t cells_of(const char *s)
{
	size_t n = strlen(s), width = 0, len;

	for (; n > 0; s += len, n -= len) {
		len = utf8_len(s, n);
		if (len == 0) {
			len = 1; /* a byte that is no character is shown as one cell */
			width++;
			continue;
		}
		if (in_ranges(two_cells, ARRAY_LEN(two_cells), code_point(s, len)))
			width += 2;
		else if (!in_ranges(zero_width, ARRAY_LEN(zero_width), code_point(s, len)))
			width++;
	}
	return width;
}

struct table {
	const struct table_col *cols;
	size_t ncols, nrows;
	bool wide;
	struct strs text; /* visible cells, row-major, of all columns */
	size_t *widths;   /* owned: of each column, without the gap */
};

static void table_release(struct table *t)
{
	strs_release(&t->text);
	free(t->widths);
}

static bool shown(const struct table *t, size_t col)
{
	return t->wide || !t->cols[col].wide;
}

static int measure(struct table *t, const char *const *cells, struct err *err)
{
	t->widths = calloc(t->ncols ? t->ncols : 1, sizeof(*t->widths));
	if (!t->widths)
		return err_nomem(err);
	for (size_t i = 0; i < t->nrows * t->ncols; i++) {
		AUTO(buf) struct buf cell = BUF_INIT(4 * LIMIT_TEXT);
		const char *raw = cells[i] ? cells[i] : "";
		size_t width;

		buf_visible(&cell, raw, strlen(raw));
		if (buf_check(&cell, err) < 0 || strs_add(&t->text, buf_text(&cell), err) < 0)
			return -1;
		width = cells_of(buf_text(&cell));
		if (width > t->widths[i % t->ncols])
			t->widths[i % t->ncols] = width;
	}
	return 0;
}

static void pad(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_char(out, ' ');
}

/* One line: cell(c) for each column that is shown; blanks at its end are left out. */
static void print_line(const struct table *t, char *const *row, struct buf *out)
{
	size_t start = out->len;

	for (size_t c = 0; c < t->ncols; c++) {
		const char *text = row ? row[c] : t->cols[c].name;
		size_t width = cells_of(text);
		size_t column = t->widths[c];

		if (!shown(t, c))
			continue;
		if (t->cols[c].right)
			pad(out, column > width ? column - width : 0);
		buf_str(out, text);
		if (!t->cols[c].right)
			pad(out, column > width ? column - width : 0);
		pad(out, GAP);
	}
	while (out->len > start && out->data[out->len - 1] == ' ')
		buf_cut(out, out->len - 1);
	buf_char(out, '\n');
}

int table_print(const struct table_col *cols, size_t ncols, const char *const *cells, size_t nrows,
		bool wide, bool headers, struct buf *out, struct err *err)
{
	AUTO(table) struct table t = { .cols = cols, .ncols = ncols, .nrows = nrows, .wide = wide };

	if (measure(&t, cells, err) < 0)
		return -1;
	for (size_t c = 0; c < ncols; c++) {
		size_t name = headers ? cells_of(cols[c].name) : 0;

		if (name > t.widths[c])
			t.widths[c] = name;
		if (t.widths[c] + GAP < MIN_WIDTH)
			t.widths[c] = MIN_WIDTH - GAP;
	}
	if (headers)
		print_line(&t, NULL, out);
	for (size_t r = 0; r < nrows; r++)
		print_line(&t, t.text.v + r * ncols, out);
	return buf_check(out, err);
}
