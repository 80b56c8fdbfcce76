import { enter, heddle } from './contestant.ts'
import { type Figure, figure, median, shown } from './figures.ts'
import type { Scratch } from './scratch.ts'

const some = 100
const many = 1000
const requests = 3
const warmUp = 3

/** One request that starts a thousand agents: what it does to its process, and what a child costs among so many. */
export async function measureManyChildren(scratch: Scratch): Promise<Figure[]> {
  return [...(await measureProcess(scratch)), await measureGrowth(scratch)]
}

/** What so many at once do to the process they run in, each time a new one. */
async function measureProcess(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`${many} children`)
  const found = { times: [] as number[], peaks: [] as number[], blocked: [] as number[] }
  for (let request = 1; request <= requests; request++) {
    const who = enter(scratch, `children-many-${request}`, heddle, { durability: 'full', atOnce: many })
    const { result, peakMb, blockedMs } = await who.ask({ do: 'agents', count: many })
    found.times.push(result as number)
    found.peaks.push(peakMb)
    found.blocked.push(blockedMs)
    await who.leave()
  }
  const { times, peaks, blocked } = found
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
      `${many} children: until the last result is with its parent`,
      'ms',
      null,
      times,
      `${requests} new processes, ${shown(median(times) / many)} ms per child`,
    ),
  ]
}

/** The same process starts a hundred and a thousand in turn, so that both are as warm. */
async function measureGrowth(scratch: Scratch): Promise<Figure> {
  scratch.say(`${some} and ${many} children in turn`)
  const who = enter(scratch, 'children-growth', heddle, { durability: 'full', atOnce: many })
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
