/* SPDX-License-Identifier: MIT */
/*
 * Counting an index again.
 */
#ifndef LAB_XA_VALIDATE_H
#define LAB_XA_VALIDATE_H

#include "lib/xarray.h"

/*
 * xa_validate() - check the invariants of lib/xarray.h
 *
 * Context: xa_lock, or nobody else uses it; no xas_create_range() is under way
 * Return: 0, or the number of a broken invariant, which stderr tells more of
 */
int xa_validate(const struct xarray *xa);

/* xa_count_nodes() - how many nodes it has */
unsigned long xa_count_nodes(const struct xarray *xa);

#endif
