import { expect, test } from 'vitest'
import { newPlace, whole } from './place.ts'

// Figures to be read, not to be asserted: how long a look takes depends on the machine.
test('3,000 files are loaded, and looked at again without being read', () => {
  const body = 'Do it well, and say how you did it.\n'.repeat(60)
  const files = Array.from({ length: 3000 }, (_, at) => {
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
  expect(first).toHaveLength(3000)
  expect(agents.list()).toBe(first)
  console.info(
    `3,000 agents: loaded in ${load.toFixed(0)} ms, looked at again in ${again[10]?.toFixed(1)} ms (median of 20)`,
  )
  place.remove()
}, 120_000)
