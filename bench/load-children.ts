import { join } from 'node:path'
import { bundleWhole } from '../test/setup/bundle.ts'
import { enter } from './contestant.ts'
import { type Figure, figure, median, shown } from './figures.ts'
import type { Scratch } from './scratch.ts'

const some = 100
const many = 1000
const requests = 3
const warmUp = 3

/** One request that starts a thousand agents: what it does to its process, and what a child costs among so many. */
export async function measureManyChildren(scratch: Scratch): Promise<Figure[]> {
  // In one file, as the package is: sources that Node reads one by one take eighty megabytes more.
  const program = await bundleWhole('bench/programs/heddle.ts', join(scratch.directory, 'heddle-in-one-file'))
  return [...(await measureProcess(scratch, program)), await measureGrowth(scratch, program)]
}

/** What so many at once do to the process they run in, each time a new one. */
async function measureProcess(scratch: Scratch, program: string): Promise<Figure[]> {
  scratch.say(`${many} children`)
  const found = { times: [] as number[], peaks: [] as number[], blocked: [] as number[], spent: [] as number[] }
  for (let request = 1; request <= requests; request++) {
    const who = enter(scratch, `children-many-${request}`, program, { durability: 'full', atOnce: many })
    const { result, peakMb, blockedMs, blockedCpuMs } = await who.ask({ do: 'agents', count: many })
    found.times.push(result as number)
    found.peaks.push(peakMb)
    found.blocked.push(blockedMs)
    found.spent.push(blockedCpuMs)
    await who.leave()
  }
  const { times, peaks, blocked, spent } = found
  const each = (values: number[]) => `the worst of ${requests} new processes: ${values.map(shown).join(', ')}`
  return [
    figure(`${many} children: peak memory`, 'MB', { atMost: 250 }, [Math.max(...peaks)], each(peaks)),
    figure(
      `${many} children: longest block of the event loop`,
      'ms',
      { atMost: 50 },
      [Math.max(...blocked)],
      `${each(blocked)}; by a timer of 1 ms`,
    ),
    figure(
      `${many} children: most processor time between two turns of the event loop`,
      'ms',
      { atMost: 50 },
      [Math.max(...spent)],
      `${each(spent)}; whatever else the machine does`,
    ),
    figure(
      `${many} children: until the last result is with its parent`,
      'ms',
      null,
      times,
      `${requests} new processes, ${shown(median(times) / many)} ms per child`,
    ),
  ]
}

/** The same process starts a hundred and a thousand in turn, so that both are as warm. */
async function measureGrowth(scratch: Scratch, program: string): Promise<Figure> {
  scratch.say(`${some} and ${many} children in turn`)
  const who = enter(scratch, 'children-growth', program, { durability: 'full', atOnce: many })
  const perChild = async (count: number) => ((await who.ask({ do: 'agents', count })).result as number) / count
  for (let round = 0; round < warmUp; round++) await perChild(some)
  const found = { ratios: [] as number[], some: [] as number[], many: [] as number[] }
  for (let round = 0; round < requests; round++) {
    const few = median([await perChild(some), await perChild(some), await perChild(some)])
    const all = await perChild(many)
    found.some.push(few)
    found.many.push(all)
    found.ratios.push(all / few)
  }
  await who.leave()
  const detail = `${shown(median(found.many))} ms / ${shown(median(found.some))} ms per child, ${requests} rounds in one process`
  return figure(`time per child at ${many} / at ${some}`, 'ratio', { atMost: 1.2 }, found.ratios, detail)
}
