/* SPDX-License-Identifier: MIT */
#include "bench/gate.h"

#include "host/backend.h"

#define GATE_SPINS	2000

void gate_wait(struct gate *gate)
{
	u32 mine = word_add(&gate->word, 1);
	u32 opens = mine - mine % gate->nr_lanes + gate->nr_lanes;

	if (mine + 1 == opens) {
		backend_wake_all(&gate->word);
		return;
	}
	/* With more lanes than CPUs the last one needs this CPU: sleep soon. */
	for (unsigned int spins = 0; ; spins++) {
		u32 now = READ_ONCE(gate->word);

		if ((int32_t)(now - opens) >= 0)
			return;
		if (spins < GATE_SPINS)
			cpu_relax();
		else
			backend_wait(&gate->word, now);
	}
}
