import { join } from 'node:path'
import { registry } from '../src/commands/registry.ts'
import { HeddleError } from '../src/domain/errors.ts'
import { type Figure, figure, measure, median, quantileFigure } from './figures.ts'
import { openHome } from './home.ts'
import { draftOf, folder, growBy, type Scratch } from './scratch.ts'
import { zeroLatencyModel } from './zero-latency.ts'

const sessions = 1000
const turns = 5000
const rounds = 30
const admin = { kind: 'user', id: 'mia', role: 'admin' } as const

/** What each chat command takes by its example, for the owner and for an admin, whose changes are audited. */
export async function commands(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`a home of ${sessions} sessions`)
  const heddle = await openHome({ home: join(scratch.directory, 'commands'), model: zeroLatencyModel() })
  const labels = ['main', ...Array.from({ length: sessions - 1 }, (_, number) => `session-${number}`)]
  await growBy((session) => heddle.append(folder, { session, draft: draftOf(670) }), labels, turns)
  await heddle.addUser(admin.id, { role: admin.role, folder, trusted: true })
  scratch.say(`${registry.length} commands, ${rounds} times each`)
  const byLine = new Map<string, number[]>(registry.map(({ example }) => [example, []]))
  const processor: number[] = []
  // The first round warms up.
  for (let round = -1; round < rounds; round++)
    for (const [line, times] of byLine)
      for (const sender of [heddle, heddle.as(admin)]) {
        const call = () => sender.command(folder, { session: 'main', line }).catch(ignoreRefusal)
        const before = process.cpuUsage()
        const time = await measure(call)
        const { user, system } = process.cpuUsage(before)
        if (round < 0) continue
        times.push(time)
        processor.push((user + system) / 1000)
      }
  await heddle.close()
  const slowest = [...byLine].toSorted(([, a], [, b]) => median(b) - median(a)).slice(0, 3)
  const names = slowest.map(([line, times]) => `${line} ${median(times).toFixed(2)} ms`).join(', ')
  const detail = `${byLine.size} commands in a home of ${sessions} sessions and ${turns} turns; slowest: ${names}`
  return [
    quantileFigure('a chat command, p99', 'ms', { atMost: 20 }, [...byLine.values()].flat(), 0.99, detail),
    figure('processor time of a chat command', 'ms', null, processor, 'all threads, whatever else the machine does'),
    quantileFigure('processor time of a chat command, p99', 'ms', { atMost: 20 }, processor, 0.99, 'the same'),
  ]
}

/** An example may name what is not there: then the refusal is measured. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof HeddleError)) throw error
}
