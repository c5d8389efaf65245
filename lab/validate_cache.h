/* SPDX-License-Identifier: MIT */
/*
 * Recounting the page caches of a machine.
 */
#ifndef LAB_VALIDATE_CACHE_H
#define LAB_VALIDATE_CACHE_H

#include "mm/filemap.h"

/*
 * cache_validate() - check the invariants of mm/filemap.h
 * @found: called for each folio that is in a cache
 *
 * Context: nothing else is running on the machine.
 * Return: true; false after saying on stderr what is wrong.
 */
bool cache_validate(struct machine *machine,
		    void (*found)(void *arg, struct folio *folio), void *arg);

#endif
