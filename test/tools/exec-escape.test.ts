import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { firstOf, isLong } from '../setup/long.ts'
import { type CommandFolder, commandFolder, isRoot, nobody } from './command-folder.ts'
import { canary, type Escape, escapes, out, setOut } from './escapes.ts'
import { type Running, surroundingsOf } from './surroundings.ts'

const identities = isRoot
  ? [
      { who: 'root in its own folder', works: 'root' },
      { who: 'root in the folder of another', owner: nobody, works: 'other' },
    ]
  : [{ who: 'an ordinary user', works: 'user' }]

/** Each of them is tried as one of the identities today, and as the others later. */
const escapesBy = (at: number) => (isLong ? escapes : escapes.filter((_, n) => (n + at) % identities.length === turn))
const turn = firstOf(identities.length) - 1

describe.each(identities)('no command gets out of the sandbox, for $who', ({ owner, works }) => {
  const tried = escapesBy(identities.findIndex((identity) => identity.works === works))
  const settings = { env: { ...process.env, HEDDLE_TEST_SECRET: canary }, ...(owner !== undefined && { owner }) }
  let around: Running
  let free: CommandFolder
  beforeAll(async () => {
    around = await surroundingsOf(await commandFolder({}, settings), owner)
    free = await commandFolder({ sandbox: 'off' }, settings)
    setOut(around.folder)
    setOut(free)
  })
  afterAll(() => {
    around.close()
    around.folder.remove()
    free.remove()
  })

  async function getsOut(folder: CommandFolder, way: Escape): Promise<boolean> {
    around.arrived.length = 0
    const text = await folder.run(`{ ${way.command({ ...around, folder })}; } 2>/dev/null\necho the end`)
    expect(text).toMatch(/the end\n\[exit 0\]$/)
    await around.settled()
    return text.includes(canary) || text.includes(out) || around.arrived.length > 0
  }

  test.each(tried)('$name', async (way) => {
    expect(await getsOut(around.folder, way)).toBe(false)
    expect(existsSync(join(around.folder.outside, 'made'))).toBe(false)
  })

  // A command that gets nowhere in any case would prove nothing.
  test.each(tried.filter((way) => [undefined, works].includes(way.works)))(
    'but without a sandbox it does: $name',
    async (way) => {
      expect(await getsOut(free, way)).toBe(true)
    },
  )
})

describe('what is hidden in the folder stays hidden', () => {
  let folder: CommandFolder
  afterEach(() => folder.remove())

  test('whatever the directories around it are renamed to', async () => {
    folder = await commandFolder()
    setOut(folder)
    const tries = ['mv deep moved', 'mv deep/deeper moved', 'mv deep/deeper/home moved', 'mv deep/deeper deep/moved']
    for (const command of [...tries, 'rm -rf deep', 'ln -s deep/deeper/home way', 'mkdir -p deep/deeper/home/new'])
      await folder.run(command)
    expect(await folder.run('grep -r . . ; find . -name "key*"; find . -name new')).not.toMatch(
      new RegExp(`${canary}|key|new`),
    )
    expect(existsSync(join(folder.hidden, 'key'))).toBe(true)
  })
})

describe('the network', () => {
  test('is there when the owner allows it, and nothing else is', async () => {
    const folder = await commandFolder({ network: true })
    const around = await surroundingsOf(folder)
    setOut(folder)
    expect(await folder.run(`(: > /dev/tcp/127.0.0.1/${around.ports.tcp}) && echo there`)).toBe('there\n[exit 0]')
    expect(await folder.run(`cat ${folder.outside}/secret.txt; cat ${folder.hidden}/key`)).not.toContain(canary)
    around.close()
    folder.remove()
  })
})
