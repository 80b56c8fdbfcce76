import { describe } from 'vitest'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { everydayHands } from './everyday-hands.ts'
import { person } from './expected-authors.ts'
import { untilFilesAreLater as later } from './file-clock.ts'
import { edit, write } from './hands.ts'

const pyTest = (name: string, path: string) =>
  `def test_${name}(client):\n    response = client.get("${path}")\n    assert response.status_code == 200\n    assert response.json()["ok"] is True\n\n\n`
const dependency = (name: string, version: string) =>
  `    "${name}": {\n      "version": "${version}",\n      "license": "MIT",\n      "engines": {\n        "node": ">=18"\n      }\n    },\n`
const lockFile = (...entries: string[]) => `{\n  "packages": {\n${entries.join('')}    "z": {}\n  }\n}\n`
const documented = (name: string) =>
  `/**\n * ${name} of all items.\n *\n * @returns a number\n */\nexport function ${name}() {\n  return 1\n}\n`
const ofItems = (names: readonly string[]) =>
  names
    .map(
      (name) => `function ${name}(items) {\n  if (!items) {\n    return []\n  }\n  return items.map(${name}One)\n}\n`,
    )
    .join('\n')

describe.each(databases)('equal lines in one change, on %s', (database) => {
  const test = testOn(database, 4)
  const { say, exec, put, judge } = everydayHands(database)
  /** Writes a file of the user anew. */
  const rewrite = async (path: string, content: string) => {
    await later()
    return say(write(path, content))
  }

  // Records tell where the new lines are.
  test('an agent adds a test between two of the user’s, and writes the whole file', async () => {
    put('test_api.py', pyTest('a', '/a') + pyTest('c', '/c'))
    const agent = await rewrite('test_api.py', pyTest('a', '/a') + pyTest('b', '/b') + pyTest('c', '/c'))
    await judge('test_api.py', (_, line) => (line >= 7 && line <= 12 ? agent : person), { isClean: true })
  })
  test('an agent adds an entry to a lock file of the user, and writes the whole file', async () => {
    const entries = Array.from({ length: 40 }, (_, n) => dependency(`node_modules/p${n}`, `1.${n}.0`))
    put('package-lock.json', lockFile(...entries.toSpliced(20, 1)))
    const agent = await rewrite('package-lock.json', lockFile(...entries))
    await judge('package-lock.json', (_, line) => (line >= 143 && line < 150 ? agent : person), { isClean: true })
  })
  test('a command puts a documented function in front of another run’s', async () => {
    const first = await say(write('math.ts', `import './setup.ts'\n\n${documented('sum')}`))
    put('new.txt', `${documented('product')}\n`)
    const second = await exec("sed -i '2r new.txt' math.ts")
    await judge('math.ts', (_, line) => (line >= 3 && line <= 11 ? second : first), { isClean: true })
  })
  test('a command puts a record in front of another run’s in a JSON list', async () => {
    const first = await say(write('users.json', '[\n  {\n    "id": 1,\n    "role": "admin"\n  }\n]\n'))
    put('new.txt', '  {\n    "id": 0,\n    "role": "admin"\n  },\n')
    const second = await exec("sed -i '1r new.txt' users.json")
    await judge('users.json', (_, line) => (line >= 2 && line <= 5 ? second : first), { isClean: true })
  })
  test('an agent puts a decorated method in front of the user’s, and writes the whole file', async () => {
    const method = (name: string) => `    @login_required\n    def ${name}(self):\n        return self.rows\n`
    put('views.py', `class Views:\n${method('index')}`)
    const agent = await rewrite('views.py', `class Views:\n${method('search')}\n${method('index')}`)
    await judge('views.py', (_, line) => (line >= 2 && line <= 5 ? agent : person), { isClean: true })
  })
  test('an agent wraps a function of the user’s by one edit, which stays below', async () => {
    const load = 'export function load() {\n  open()\n  read()\n  return data\n}'
    put('a.ts', `${load}\n`)
    const wrapped = load.replace('  open()\n', '  prepare()\n')
    const agent = await say(edit('a.ts', load, `function prepare() {\n  open()\n  return data\n}\n\n${wrapped}`))
    await judge('a.ts', (text, line) =>
      text === '  open()' ? [agent, person] : line > 5 && text !== '  prepare()' ? person : agent,
    )
  })
  test('an agent moves the user’s last test to the top, and writes the whole file', async () => {
    put('a.py', pyTest('a', '/a') + pyTest('b', '/b') + pyTest('c', '/c'))
    const agent = await rewrite('a.py', pyTest('c', '/c') + pyTest('a', '/a') + pyTest('b', '/b'))
    await judge('a.py', (_, line) => (line <= 6 ? [agent, person] : person))
  })

  // Which of them is new is left open.
  test('an agent changes the user’s first test and adds one after it, and writes the whole file', async () => {
    put('test_api.py', pyTest('a', '/a') + pyTest('c', '/c'))
    const agent = await rewrite('test_api.py', pyTest('a', '/v2/a') + pyTest('b', '/b') + pyTest('c', '/c'))
    await judge('test_api.py', (_, line) => (line === 2 || (line >= 7 && line <= 12) ? agent : person))
  })
  test('an agent changes a test of another agent’s and adds one after it, by one edit', async () => {
    const first = await say(write('test_api.py', pyTest('a', '/a') + pyTest('c', '/c')))
    const changed = pyTest('a', '/v2/a') + pyTest('b', '/b').trimEnd()
    const second = await say(edit('test_api.py', pyTest('a', '/a').trimEnd(), changed))
    await judge('test_api.py', (text, line) =>
      text === '' ? [first, second] : line === 2 || (line >= 7 && line <= 12) ? second : first,
    )
  })
  test('an agent raises one dependency of the user’s lock file and adds another', async () => {
    put('lock.json', lockFile(dependency('alpha', '1.0.0'), dependency('gamma', '3.0.0')))
    const agent = await rewrite(
      'lock.json',
      lockFile(dependency('alpha', '1.1.0'), dependency('beta', '2.0.0'), dependency('gamma', '3.0.0')),
    )
    await judge('lock.json', (_, line) => (line === 4 || (line >= 10 && line <= 16) ? agent : person))
  })
  test('an agent rewrites a section of the user’s reference and adds one with the same headings', async () => {
    const section = (name: string, what: string) =>
      `## ${name}\n\n${what}\n\n### Parameters\n\nNone.\n\n### Returns\n\nA promise.\n\n`
    const [open, stat] = [section('open', 'Opens a file.'), section('stat', 'Tells its size.')]
    put('REFERENCE.md', `# Reference\n\n${open}${stat}`)
    const rewritten = open.replace('a file', 'a file for reading')
    const agent = await rewrite('REFERENCE.md', `# Reference\n\n${rewritten}${section('close', 'Closes it.')}${stat}`)
    await judge('REFERENCE.md', (_, line) => (line === 5 || (line >= 15 && line <= 26) ? agent : person))
  })
  test('an agent closes a row of the user’s table and adds rows that are equal to others', async () => {
    put('t.csv', 'id,state\n1,open\n2,open\n\n# second quarter\n1,open\n2,open\n')
    const added = '# new quarter\n1,open\n2,open\n\n'
    const agent = await rewrite('t.csv', `id,state\n1,closed\n2,open\n\n${added}# second quarter\n1,open\n2,open\n`)
    await judge('t.csv', (text, line) =>
      text === '' ? [agent, person] : line === 2 || (line >= 5 && line <= 8) ? agent : person,
    )
  })
  test('a command removes one of two neighbouring rows of two runs, which are equal', async () => {
    const first = await say(write('orders.csv', 'id,item,amount\n7,coffee,3\n'))
    const second = await exec('echo "7,coffee,3" >> orders.csv')
    await exec("sed -i '2d' orders.csv")
    await judge('orders.csv', (_, line) => (line === 2 ? second : first))
  })
  test('a log of equal lines of a person and a run is cut to its last lines', async () => {
    put('access.log', 'GET /health 200\n'.repeat(3))
    const agent = await exec('for n in 1 2 3; do echo "GET /health 200" >> access.log; done')
    await exec('tail -n 2 access.log > t; mv t access.log')
    await judge('access.log', () => agent)
  })
  test('a command writes a row of a table twice, around that of another run', async () => {
    const first = await say(write('table.md', '| name | state |\n| --- | --- |\n| api | ok |\n'))
    const second = await exec("sed -i '2a| api | ok |\\n| web | ok |' table.md")
    await judge('table.md', (_, line) => (line === 3 || line === 4 ? second : first))
  })
  test('a formatter doubles the indentation of nested blocks of two runs', async () => {
    const first = await say(write('app.js', 'export function outer(items) {\n  if (items) {\n    run(items)\n  }\n}\n'))
    const inner = '    for (const each of items) {\n      run(each)\n    }\n'
    const second = await say(edit('app.js', '    run(items)\n', inner))
    const third = await exec("sed -i -E 's/^( +)/\\1\\1/' app.js")
    await judge('app.js', (text, line) => (/^\S/.test(text) ? first : line === 6 ? [first, third] : [second, third]))
  })

  // Blocks that a command puts in another order.
  test('a command moves the first of three functions of the user’s and of two runs to the end', async () => {
    put('a.js', ofItems(['beta']))
    await later()
    const first = await say(edit('a.js', 'function beta', `${ofItems(['alpha'])}\nfunction beta`))
    const second = await say(edit('a.js', 'betaOne)\n}\n', `betaOne)\n}\n\n${ofItems(['gamma'])}`))
    const third = await exec('{ tail -n +8 a.js; echo; head -n 6 a.js; } > b.js; cat b.js > a.js; rm b.js')
    await judge('a.js', (text, line) =>
      text === '' ? [first, second, third, person] : ([person, second, first][Math.floor(line / 7)] ?? ''),
    )
  })
  test('a command exchanges two functions of two runs and renames one of them', async () => {
    const first = await say(write('a.js', ofItems(['alpha'])))
    const second = await say(edit('a.js', 'alphaOne)\n}\n', `alphaOne)\n}\n\n${ofItems(['beta'])}`))
    const third = await exec(
      '{ tail -n +8 a.js; echo; head -n 6 a.js; } | sed s/alpha/omega/ > b.js; cat b.js > a.js; rm b.js',
    )
    await judge('a.js', (text, line) =>
      text === '' ? [first, second, third] : text.includes('omega') ? [first, third] : line < 7 ? second : first,
    )
  })
})
