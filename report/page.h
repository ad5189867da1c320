/* page.h - the files of the page, which the build puts into the library (tools/embed_text.py). */
#ifndef BI_REPORT_PAGE_H
#define BI_REPORT_PAGE_H

extern const char bi_page_html[]; /* has @TITLE@, @STYLE@, @DATA@ and @SCRIPT@, in this order */
extern const char bi_page_css[];
extern const char bi_page_js[];

#endif
