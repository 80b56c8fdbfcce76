import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bundledWhole, start } from '../contract/program.ts'
import { inTurn } from '../setup/long.ts'
import { databases, newPlace } from '../setup/places.ts'

const moments = [
  ...['before', 'after'].flatMap((when) => [3, 4, 5].map((at) => `step.${when}_commit#${at}`)),
  // Ends may share a commit: this one there always is.
  'settle.before_commit#2',
]

describe.each(databases)('what an agent found out, on %s', { timeout: 120_000 }, (database) => {
  let home: string
  let address: string
  let remove = async () => undefined as unknown
  beforeEach(() => {
    home = join(mkdtempSync(join(tmpdir(), 'heddle-programs-')), 'home')
    const made = newPlace(database)
    address = made.place.kind === 'sqlite' ? 'sqlite' : made.place.url
    remove = made.remove
  })
  afterEach(async () => {
    await remove()
    rmSync(join(home, '..'), { recursive: true, force: true })
  })

  // Each kill on PostgreSQL waits for a lease: there the moments around the link are enough.
  const killedAt =
    database === 'sqlite' ? moments : moments.filter((moment) => moment.startsWith('step') && /#[45]/.test(moment))
  test.each(inTurn(killedAt, 1))(
    'is kept once and linked to its result, although a process is killed at %s',
    async (crashAt) => {
      const program = await bundledWhole('../engine/programs/curating')
      const curate = (more: object) => start(program, { home, database: address, ...more })
      const end = await curate({ crashAt }).end
      // Steps that are made side by side may share a commit: then there is no fifth.
      expect(crashAt.endsWith('#5') ? ['SIGKILL', 0] : ['SIGKILL']).toContain(end)
      const again = curate({})
      const heard = (await again.hear()) as { memories: { id: number }[] }
      // What a killed transaction took from a sequence of PostgreSQL is gone.
      const id = database === 'sqlite' ? 1 : heard.memories[0]?.id
      expect(heard).toMatchObject({
        text: 'Kept.',
        memories: [{ id, content: 'The port is 8080', resultId: 1, score: 1 }],
        result: { id: 1, memoryIds: [id], processed: true },
      })
      expect(await again.end).toBe(0)
    },
  )
})
