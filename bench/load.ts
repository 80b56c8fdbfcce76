import type { Figure } from './figures.ts'
import { measureManyChildren } from './load-children.ts'
import { measureSocket } from './load-socket.ts'
import { measureWorkers } from './load-workers.ts'
import type { Scratch } from './scratch.ts'

/** Much at once: children of one request, inputs over the daemon's socket, worker processes on one PostgreSQL. */
export async function load(scratch: Scratch): Promise<Figure[]> {
  return [...(await measureManyChildren(scratch)), await measureSocket(scratch), await measureWorkers(scratch)]
}
