import { expect, test } from 'vitest'
import { isLong } from '../setup/long.ts'
import { newPlace, whole } from './place.ts'

// Figures to be read, not to be asserted: how long a look takes depends on the machine.
const count = isLong ? 3000 : 600

test(`${count} files are loaded, and looked at again without being read`, () => {
  const body = 'Do it well, and say how you did it.\n'.repeat(60)
  const files = Array.from({ length: count }, (_, at) => {
    const slip = at % 10 === 0 ? 'about: one: two\n' : ''
    return [`home/skills/team-${at % 50}/agent-${at}.md`, whole(`agent-${at}`, slip) + body] as const
  })
  const place = newPlace(Object.fromEntries(files))
  const agents = place.open()
  const timed = <T>(look: () => T): [T, number] => {
    const begin = performance.now()
    return [look(), performance.now() - begin]
  }
  const [first, load] = timed(() => agents.list())
  const again = Array.from({ length: 20 }, () => timed(() => agents.list())[1]).sort((a, b) => a - b)
  expect(first).toHaveLength(count)
  expect(agents.list()).toBe(first)
  console.info(
    `${count} agents: loaded in ${load.toFixed(0)} ms, looked at again in ${again[10]?.toFixed(1)} ms (median of 20)`,
  )
  place.remove()
}, 120_000)
