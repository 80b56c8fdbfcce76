import { describe, expect } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { write } from './hands.ts'

const env = 'PORT=3000\nHOST=localhost\nDB_URL=postgres://localhost/shop\nLOG_LEVEL=info\nSECRET=changeme\n'

describe.each(databases)('short files that a step of a command copies, on %s', (database) => {
  const test = testOn(database, 4)
  const { say, exec, put, judge, ask } = everydayHands(database)
  const isClean = true

  test('one of the user that is changed at once', async () => {
    put('.env.example', env)
    const copier = await exec('cp .env.example config.ini && sed -i s/3000/9000/ config.ini')
    await judge('config.ini', (text) => (text.includes('9000') ? copier : person), { isClean })
    const { notes } = await ask('config.ini:2')
    expect(notes.map(({ text }) => text)).toEqual(['line 2 was in .env.example, and heddle did not write it there'])
  })
  test('one of an agent that is changed at once', async () => {
    const first = await say(write('a.env', env))
    const copier = await exec('cp a.env b.env && echo DEBUG=1 >> b.env')
    await judge('b.env', (text) => (text === 'DEBUG=1' ? copier : first), { isClean })
  })
  test('a line of the user', async () => {
    put('VERSION', 'v1.2.3\n')
    await exec('cp VERSION V2')
    await judge('V2', () => person, { isClean })
  })
  test('a line of the user onto a file of an agent', async () => {
    put('VERSION', 'v1.2.3\n')
    await say(write('V2', 'v0.0.1\n'))
    await exec('cp VERSION V2')
    await judge('V2', () => person, { isClean })
  })
  test('a folder of templates with equal names', async () => {
    put('tpl/a/index.js', "import './style.css'\n")
    put('tpl/b/index.js', "import './style.css'\n")
    const first = await say(write('tpl/c/index.js', "import './own.css'\n"))
    const copier = await exec('cp -r tpl shop && echo "run()" >> shop/b/index.js')
    await judge('shop/a/index.js', () => person, { isClean })
    await judge('shop/b/index.js', (text) => (text === 'run()' ? copier : person), { isClean })
    await judge('shop/c/index.js', () => first, { isClean })
  })
  test('lines that filters take from one', async () => {
    const first = await say(write('a.ini', env))
    const filtered = await exec("sed '1s/3000/4000/' a.ini > b.ini; (echo '# made from a.ini'; cat a.ini) > c.ini")
    await judge('b.ini', (text) => (text === 'PORT=4000' ? filtered : first), { isClean })
    await judge('c.ini', (text) => (text.startsWith('#') ? filtered : first), { isClean })
  })
  test('one onto a file that is there, changed at once', async () => {
    const first = await say(write('a.ini', env))
    await say(write('b.ini', 'HOST=localhost\nUSER=me\n'))
    await later()
    const copier = await exec('cp a.ini b.ini && sed -i s/3000/9000/ b.ini')
    await judge('b.ini', (text) => (text.includes('9000') ? copier : first))
  })
  test('but not one that a step only looks at', async () => {
    put('a.ini', env)
    const made = await exec(
      `grep -c . a.ini; (for n in PORT=3000 HOST=localhost USER=$((1+1)); do echo "$n"; done) > b.ini`,
    )
    await judge('b.ini', () => made)
  })
})
