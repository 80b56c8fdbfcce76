import { join } from 'node:path'
import { authorize } from '../src/domain/access/authorize.ts'
import type { Principal } from '../src/domain/access/principal.ts'
import { type Figure, figure, measure } from './figures.ts'
import { openHome } from './home.ts'
import type { Scratch } from './scratch.ts'
import { zeroLatencyModel } from './zero-latency.ts'

const rounds = 50
const callsPerRound = 10_000
const mia = { kind: 'user', id: 'mia', role: 'public' } as const

/** What each request pays for knowing on whose behalf it is made. */
export async function measureGuard(scratch: Scratch): Promise<Figure> {
  scratch.say('authorize and as()')
  const heddle = await openHome({ home: join(scratch.directory, 'guard'), model: zeroLatencyModel() })
  let allowed = 0
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const time = await measure(() => {
      for (let call = 0; call < callsPerRound; call++) {
        const principal: Principal = { ...mia, id: `mia-${call % 100}` }
        heddle.as(principal)
        if (authorize(principal, 'run.ask', { principal: 'user:mia-7' })) allowed++
      }
    })
    times.push(time / callsPerRound)
  }
  await heddle.close()
  const detail = `${rounds} times ${callsPerRound} calls for 100 users, ${allowed} allowed`
  return figure('authorize and as(), per call', 'ms', { atMost: 0.005 }, times, detail)
}
