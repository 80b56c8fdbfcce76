import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayImport } from './architecture/rules.ts'
import { readTree, type SourceFile } from './architecture/tree.ts'
import { violations } from './architecture/violations.ts'

const tree = readTree(join(import.meta.dirname, '..'))

describe('the project keeps its own rules', () => {
  test('the whole tree is looked at', () => {
    expect(tree.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['bin/heddle', 'src/system.ts', 'src/domain/clock.ts', 'test/architecture.test.ts']),
    )
  })

  test('nothing in it breaks a rule', () => {
    expect(violations(tree)).toEqual([])
  })
})

describe('what is exported is used', () => {
  const text = 'export const used = 1\nexport const unused = used'

  test('by another file, not by its own alone', () => {
    const user = file('src/domain/b.ts', "import { used } from './a.ts'\nused()")
    expect(violations([file('src/domain/a.ts', text), user])).toEqual([
      'src/domain/a.ts: exports unused, which no other file uses',
    ])
  })

  test('and a test may take only what its file uses as well', () => {
    const user = file('test/a.test.ts', "import { unused, used } from '../src/domain/a.ts'\nused(unused)")
    expect(violations([file('src/domain/a.ts', text), user])).toEqual([
      'src/domain/a.ts: exports unused, which only tests use',
    ])
  })
})

test('a folder that holds too many files is refused', () => {
  const files = Array.from({ length: 33 }, (_, at) => file(`src/domain/noun-${at}.ts`))
  expect(violations(files)).toEqual(['src/domain: has 33 files, more than 32; make a folder for a part of them'])
})

describe('a room imports only what the table allows', () => {
  for (const [room, allowed] of Object.entries(mayImport)) {
    test(`${room} may import ${allowed.join(', ') || 'nothing'}, and is stopped at the rest`, () => {
      const others = Object.keys(mayImport).filter((other) => other !== room)
      const stopped = others.filter((other) => violations(roomImporting(room, other)).length > 0)
      expect(stopped).toEqual(others.filter((other) => !allowed.includes(other)))
    })
  }

  test.each([
    ['a type import', "import type { Run } from '../engine/run.ts'"],
    ['a re-export', "export { run } from '../engine/run.ts'"],
    ['a re-export of everything', "export * from '../engine/run.ts'"],
    ['a dynamic import', "const run = await import('../engine/run.ts')"],
    ['a type written in place', "type Run = import('../engine/run.ts').Run"],
    ['the type of a module', "type Engine = typeof import('../engine/run.ts')"],
  ])('%s counts as an import', (_, text) => {
    const found = violations([file('src/store/writer.ts', text), file('src/engine/run.ts')])
    expect(found).toEqual([expect.stringMatching(/^src\/store\/writer.ts: imports src\/engine\/run.ts, but store may/)])
  })

  test('a folder of the engine imports only the layers below it', () => {
    const importing = (path: string, target: string) =>
      violations([file(path, `import '${relative(dirname(path), target)}'`), file(target)])
    expect(importing('src/engine/why/chain.ts', 'src/engine/run/context/journal.ts')).toEqual([])
    expect(importing('src/engine/run/claim.ts', 'src/engine/files/artifacts.ts')).toEqual([
      'src/engine/run/claim.ts: imports src/engine/files/artifacts.ts, which is a layer above it',
    ])
  })

  test('ARCHITECTURE.md shows the table', () => {
    const page = readFileSync(join(import.meta.dirname, '../ARCHITECTURE.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `src\/([\w.-]+?)\/?` \|[^|]*\| ([^|]*) \|$/gm)]
    const shown = rows.map(([, room = '', allowed = '']) => [room, allowed === '–' ? [] : allowed.split(', ')])
    expect(Object.fromEntries(shown)).toEqual(mayImport)
  })

  test('a room that is not in the table is refused', () => {
    expect(violations([file('src/plugins/load.ts')])).toEqual([
      'src/plugins/load.ts: plugins is not a room; add it to test/architecture/rules.ts',
    ])
  })

  test('a file at the top that is not in the table is refused', () => {
    expect(violations([file('src/unheard.ts')])).toEqual([
      'src/unheard.ts: unheard.ts is not a room; add it to test/architecture/rules.ts',
    ])
  })

  test.each([
    ['a file outside src', '../../test/setup/tally.ts', 'test/setup/tally.ts'],
    ['a file above the project', '../../../elsewhere.ts', '../elsewhere.ts'],
    ['the package by its own name', 'heddle/testing', 'heddle/testing'],
  ])('src never imports %s', (_, specifier, target) => {
    expect(violations([file('src/domain/id.ts', `import '${specifier}'`)])).toEqual([
      `src/domain/id.ts: imports ${target}, but domain may import nothing`,
    ])
  })

  test('src never imports a path that is computed, since nobody can read where it leads', () => {
    expect(violations([file('src/domain/id.ts', 'await import(name)')])).toEqual([
      'src/domain/id.ts: imports a path that is not written out, but domain may import nothing',
    ])
  })
})

describe('an exported name means one thing', () => {
  test('two files that declare the same one are told, a re-export is not', () => {
    const found = violations([
      file('src/domain/a.ts', 'export interface Place {}\nexport type { Label } from "./label.ts"'),
      file('src/domain/label.ts', 'export type Label = string'),
      file('src/store/b.ts', 'export function Place() {}'),
      file(
        'src/memory/c.ts',
        'import type { Place } from "../domain/a.ts"\nimport { Place as B } from "../store/b.ts"',
      ),
    ])
    expect(found).toEqual(['src/store/b.ts: exports Place, and so does src/domain/a.ts'])
  })
})

describe('no file imports itself by way of others', () => {
  test.each([
    ['an import', "import './b.ts'", "import './c.ts'", "import './a.ts'"],
    ['a type import', "import './b.ts'", "import './c.ts'", "import type { A } from './a.ts'"],
    ['a re-export', "import './b.ts'", "export * from './c.ts'", "import './a.ts'"],
    ['a dynamic import', "import './b.ts'", "const c = () => import('./c.ts')", "import './a.ts'"],
    ['a type written in place', "import './b.ts'", "type C = import('./c.ts').C", "import './a.ts'"],
  ])('with %s on the way', (_, a, b, c) => {
    const files = [file('src/domain/a.ts', a), file('src/domain/b.ts', b), file('src/domain/c.ts', c)]
    expect(violations(files)).toEqual([
      'src/domain/a.ts: imports itself by way of src/domain/a.ts -> src/domain/b.ts -> src/domain/c.ts -> src/domain/a.ts',
    ])
  })

  test('two ways to the same file are no circle', () => {
    const files = [
      file('src/domain/a.ts', "import './b.ts'\nimport './c.ts'"),
      file('src/domain/b.ts', "import './d.ts'"),
      file('src/domain/c.ts', "import './d.ts'"),
      file('src/domain/d.ts'),
    ]
    expect(violations(files)).toEqual([])
  })
})

describe('a file is one idea, named for it', () => {
  test.each(['src/domain/id.ts', 'bin/heddle', 'test/id.test.ts', 'scripts/build.ts', 'bench/run.ts', 'web/app.tsx'])(
    '%s may have 400 lines and no more',
    (path) => {
      expect(violations([file(path, '// a line\n'.repeat(400))])).toEqual([])
      expect(violations([file(path, '// a line\n'.repeat(401))])).toEqual([
        `${path}: is longer than 400 lines; give each idea its own file`,
      ])
    },
  )

  test.each([
    'src/domain/utils.ts',
    'src/domain/string-utils.ts',
    'src/domain/helpers.ts',
    'src/domain/types.ts',
    'src/domain/types.d.ts',
    'src/domain/interfaces.ts',
    'src/domain/common.ts',
    'src/domain/index.ts',
    'src/domain/common/id.ts',
    'test/helpers.ts',
    'web/index.tsx',
  ])('%s is not a name', (path) => {
    expect(violations([file(path)])).toEqual([`${path}: is not named for its idea`])
  })

  test.each(['src/index.ts', 'src/agents/agent-index.ts', 'web/index.html'])('%s is a name', (path) => {
    expect(violations([file(path, '')])).toEqual([])
  })
})

describe('SQL lives in the store', () => {
  test.each([
    "const q = 'SELECT 1'",
    'const q = `\n  INSERT INTO turns VALUES (1)`',
    "const q = 'UPDATE ' + table + ' SET a = 1'",
    "const q = 'DELETE FROM turns'",
    "const q = 'CREATE TABLE t (a)'",
    "const q = 'ALTER TABLE t ADD b'",
    "const q = 'PRAGMA journal_mode'",
    "const q = 'BEGIN IMMEDIATE'",
    "const q = 'COMMIT'",
    "const q = 'SAVEPOINT a'",
    'const q = `WITH RECURSIVE a AS (VALUES (1)) TABLE a`',
    "import { Kysely } from 'kysely'",
    "import type { Client } from 'pg'",
    "import { DatabaseSync } from 'node:sqlite'",
    "const kysely = await import('kysely')",
  ])('%s is refused elsewhere', (text) => {
    expect(violations([file('src/engine/run/claim.ts', text)])).toHaveLength(1)
    expect(violations([file('src/store/rows/runs.ts', text)])).toEqual([])
  })

  test('but for the lock on a file, which has no rows', () => {
    const text = "await import('node:sqlite')\nconst q = 'BEGIN EXCLUSIVE'"
    expect(violations([file('src/file-lock.ts', text)])).toEqual([])
    expect(violations([file('src/config/lock.ts', text)])).toHaveLength(2)
  })

  test.each([
    "const method = 'DELETE'",
    '// SELECT is spoken of here\nexport {}',
    "const prose = 'Select a session, or UPDATE it'",
  ])('%s is no SQL', (text) => {
    expect(violations([file('src/gateway/routes.ts', text)])).toEqual([])
  })
})

describe('time and chance come as arguments', () => {
  test.each([
    'Date.now()',
    "Date['now']()",
    'globalThis.Date.now()',
    'const { now } = Date',
    'const later = Date.now',
    'new Date()',
    'Date()',
    'performance.now()',
    'process.hrtime.bigint()',
    'Math.random()',
    'crypto.randomUUID()',
    'crypto.getRandomValues(bytes)',
    "import { randomBytes } from 'node:crypto'",
    "import { randomUUID as id } from 'node:crypto'",
    'setTimeout(wake, 10)',
    'globalThis.setTimeout(wake, 10)',
    'later(setTimeout)',
    'setInterval(wake, 10)',
    "import { setTimeout } from 'node:timers'",
    "import { setTimeout } from 'node:timers/promises'",
    "const timers = await import('node:timers/promises')",
    'AbortSignal.timeout(10)',
  ])('%s is refused outside src/system.ts', (text) => {
    expect(violations([file('src/store/writer.ts', text)])).not.toEqual([])
    expect(violations([file('src/system.ts', text)])).toEqual([])
    expect(violations([file('test/writer.test.ts', text)])).toEqual([])
  })

  test.each(['setImmediate(next)', 'queueMicrotask(next)'])('%s is for the store alone', (text) => {
    expect(violations([file('src/store/writer.ts', text)])).toEqual([])
    expect(violations([file('src/engine/run/claim.ts', text)])).toHaveLength(1)
  })

  test.each([
    'new Date(millis).toISOString()',
    'clock.now()',
    'random.bytes(8)',
    'socket.setTimeout(10)',
    "import { createHash } from 'node:crypto'",
    '// Date.now() is spoken of here\nexport {}',
  ])('%s asks the machine for nothing', (text) => {
    expect(violations([file('src/engine/run/claim.ts', text)])).toEqual([])
  })
})

describe('tools reach files by handles', () => {
  test.each([
    "import { readFileSync } from 'node:fs'",
    "import { readFileSync } from 'fs'",
    "import { open } from 'node:fs/promises'",
    "const fs = await import('node:fs')",
    "const fs = process.getBuiltinModule('fs')",
    "import { createRequire } from 'node:module'",
    "import { asyncDisk } from './disk.ts'",
    "import { pathHandle } from './handle.ts'",
    "import { spawn } from 'node:child_process'",
    "import { exec } from 'child_process'",
    "import { launch } from '../exec/sandbox/launch.ts'",
    "import { host } from '../exec/sandbox/host.ts'",
  ])('%s is refused in a tool', (text) => {
    const parts = ['files/disk', 'files/handle', 'exec/sandbox/launch', 'exec/sandbox/host'].map((name) =>
      file(`src/tools/${name}.ts`),
    )
    expect(violations([file('src/tools/files/read-file.ts', text), ...parts])).not.toEqual([])
  })

  test('the disk alone imports what reaches files, handles alone the disk, the sandbox alone starts programs', () => {
    const files = [
      file('src/tools/files/disk.ts', "import { openSync } from 'node:fs'"),
      file('src/tools/files/handle.ts', "import type { Stats } from 'node:fs'\nimport { syncDisk } from './disk.ts'"),
      file('src/tools/call.ts', "import { pathHandle } from './handle.ts'"),
      file('src/tools/exec/sandbox/launch.ts', "import { spawn } from 'node:child_process'"),
      file('src/tools/exec/sandbox/host.ts', "import { stat } from 'node:fs/promises'"),
    ]
    expect(violations(files)).toEqual([])
  })
})

describe('the network is reached by the safe fetch', () => {
  test.each([
    "import { request } from 'node:https'",
    "import { connect } from 'net'",
    "import { lookup } from 'node:dns/promises'",
    "const tls = await import('node:tls')",
    'await fetch(url)',
    'await globalThis.fetch(url)',
    'const get = fetch',
    'new WebSocket(url)',
  ])('%s is refused elsewhere', (text) => {
    for (const path of ['src/tools/web-fetch.ts', 'src/engine/run/claim.ts', 'src/cli/commands/daemon/up.ts'])
      expect(violations([file(path, text)])).toHaveLength(1)
    expect(violations([file('src/models/providers/openai.ts', text)])).toEqual([])
  })

  test('its own folder imports what reaches the network, and still takes no fetch of the platform', () => {
    expect(violations([file('src/tools/fetch/fetch-target.ts', "import { isIP } from 'node:net'")])).toEqual([])
    expect(violations([file('src/tools/fetch/fetch-target.ts', 'await fetch(url)')])).toHaveLength(1)
  })

  test.each(["import type { Socket } from 'node:net'", "call.fetch('url')", 'const settings = { fetch: {} }'])(
    '%s reaches nothing',
    (text) => {
      expect(violations([file('src/engine/run/claim.ts', text)])).toEqual([])
    },
  )
})

describe('a command takes streams, folder and signals as an argument', () => {
  test.each([
    "process.stdout.write('hello')",
    'const { stderr } = process',
    'process.cwd()',
    'process.exit(1)',
    "process.on('SIGINT', stop)",
    "process.env['HOME']",
    "import { stdout } from 'node:process'",
    "import { homedir } from 'node:os'",
    "console.log('hello')",
  ])('%s is refused in src/cli', (text) => {
    expect(violations([file('src/cli/commands/ask.ts', text)])).not.toEqual([])
    expect(violations([file('src/cli/process-io.ts', text)])).toEqual([])
  })

  test.each(['process.pid', 'process.version', "here.io.stdout.write('hello')", "import { tmpdir } from 'node:os'"])(
    '%s is none of these',
    (text) => {
      expect(violations([file('src/cli/commands/ask.ts', text)])).toEqual([])
    },
  )
})

describe('the public names are the checked-in list', () => {
  const index = "export { open } from './app/app.ts'\nexport type { Turn } from './domain/turn.ts'"
  const files = (list: string) => [
    file('src/index.ts', index),
    file('src/testing.ts', 'export const scripted = 1'),
    file('src/app/app.ts'),
    file('src/domain/turn.ts'),
    file('test/public-names.txt', list),
  ]

  test('equal lists pass', () => {
    expect(violations(files('index: Turn\nindex: open\ntesting: scripted\n'))).toEqual([])
  })

  test('a name too many and a name too few are told, with the command that updates the list', () => {
    expect(violations(files('index: Turn\nindex: gone\ntesting: scripted\n'))).toEqual([
      'test/public-names.txt: lacks "index: open"; run npm run names if you mean to change what users import',
      'test/public-names.txt: "index: gone" is not exported; run npm run names if you mean to change what users import',
    ])
  })

  test('exporting everything hides names and is refused', () => {
    const star = [file('src/index.ts', "export * from './app/app.ts'"), file('test/public-names.txt', 'index: *\n')]
    expect(violations(star)).toEqual(['test/public-names.txt: "index: *" hides names; write them out'])
  })
})

test('a file that cannot be parsed is reported, since nothing is known of it', () => {
  expect(violations([file('src/domain/id.ts', 'const = 1')])[0]).toMatch(/^src\/domain\/id\.ts: cannot be parsed/)
})

function file(path: string, text = 'export {}\n'): SourceFile {
  return { path, text }
}

/** A tree of two files, where a file of one room imports one of another. */
function roomImporting(room: string, other: string): SourceFile[] {
  const pathIn = (name: string) => (name.endsWith('.ts') ? `src/${name}` : `src/${name}/part.ts`)
  const up = room.endsWith('.ts') ? './' : '../'
  return [file(pathIn(room), `import '${up}${pathIn(other).slice('src/'.length)}'`), file(pathIn(other))]
}
