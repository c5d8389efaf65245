/* SPDX-License-Identifier: MIT */
/*
 * Pin a buffer of a simulated address space, let a "device" write to it.
 *
 * cc pin.c $(pkg-config --cflags --libs pinfold) -o pin
 */
#include <pinfold/pinfold.h>

#include <stdio.h>
#include <string.h>

#define PAGES 8

static int give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, pf_error_text());
	return 1;
}

static int run(struct pf_mm *mm)
{
	struct pf_page *pages[PAGES];
	char answer[16] = "";
	pf_addr_t buffer;
	void *bytes;
	long nr;

	if (pf_mmap(mm, 0, PAGES * PINFOLD_PAGE_SIZE,
		    PINFOLD_PROT_READ | PINFOLD_PROT_WRITE, 0, &buffer))
		return give_up("mmap");
	nr = pf_pin_user_pages_unlocked(mm, buffer, PAGES, pages,
					PINFOLD_FOLL_WRITE |
					PINFOLD_FOLL_LONGTERM);
	if (nr != PAGES)
		return give_up("pin");
	/* The device writes to the frame, the process reads its memory. */
	if (pf_page_address(pages[3], &bytes))
		return give_up("page address");
	strcpy(bytes, "from the device");
	if (pf_read(mm, buffer + 3 * PINFOLD_PAGE_SIZE, answer,
		    sizeof(answer)) != sizeof(answer))
		return give_up("read");
	printf("%#llx: %s\n", (unsigned long long)buffer, answer);
	pf_unpin_user_pages_dirty_lock(pages, nr, true);
	return 0;
}

int main(void)
{
	struct pf_machine_options options = {
		.size = sizeof(options),
		.memory_bytes = 64 << 20,
	};
	struct pf_machine *machine;
	struct pf_mm *mm;
	int ret;

	if (pf_machine_create(&options, &machine))
		return give_up("machine");
	if (pf_mm_create(machine, &mm))
		return give_up("mm");
	ret = run(mm);
	pf_mm_destroy(mm);
	return pf_machine_destroy(machine) ? give_up("destroy") : ret;
}
