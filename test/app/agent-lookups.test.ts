import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAppAgents } from '../../src/app/agents.ts'
import { systemClock } from '../../src/system.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'heddle-lookups-'))
  mkdirSync(join(home, 'skills'))
})
afterEach(() => rmSync(home, { recursive: true }))

test('an agent that is made or removed is known to the next turn of the event loop', async () => {
  const paths = { home, skills: join(home, 'skills') }
  const agents = openAppAgents({ paths, config: { skills: [], models: {} } }, systemClock)
  const isKnown = () => [
    agents.find('gardener', '/elsewhere')?.name,
    agents.list('/elsewhere').some(({ name }) => name === 'gardener'),
  ]
  const file = join(paths.skills, 'gardener.md')
  expect(isKnown()).toEqual([undefined, false])
  writeFileSync(file, '---\nname: gardener\ndescription: Waters plants.\n---\nYou water plants.\n')
  await nextTurn()
  expect(isKnown()).toEqual(['gardener', true])
  rmSync(file)
  await nextTurn()
  expect(isKnown()).toEqual([undefined, false])
})
