import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { type CommandFolder, commandFolder } from './command-folder.ts'

describe.each(['on', 'off'] as const)('with the sandbox %s, what a command changes is kept with its end', (sandbox) => {
  let folder: CommandFolder
  afterEach(() => folder.remove())

  const open = async (files: Record<string, string>) => {
    folder = await commandFolder({ sandbox })
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true })
      writeFileSync(join(folder.path, name), content)
    }
  }
  const touched = async (command: string) => (await folder.call({ command })).touched
  /** Hidden files are looked at only where a grant lapses by them; else they are passed over. */
  const hiddenChanges = (command: string, paths: string[], passedOver: string[]) =>
    sandbox === 'on'
      ? { passedOver }
      : {
          hidden: {
            by: { cwd: folder.path, pattern: JSON.stringify({ command }), confinement: 'none' },
            paths,
            more: 0,
          },
        }
  const nothing = () => ({ folder: folder.path, created: [], changed: [], removed: [], more: 0 })

  test('files that it made, changed and removed, and none besides', async () => {
    await open({ 'a.txt': '1', 'b.txt': '1', 'same.txt': '1', 'sub/deep/c.txt': '1', 'mode.txt': '1' })
    const command =
      'echo 2 > a.txt; rm b.txt; echo 2 > sub/deep/c.txt; mkdir -p new/x; > new/x/d; cat same.txt; chmod +x mode.txt'
    expect(await touched(command)).toEqual({
      ...nothing(),
      created: ['new/x/d'],
      changed: ['a.txt', 'mode.txt', 'sub/deep/c.txt'],
      removed: ['b.txt'],
    })
    expect(await touched('cat a.txt')).toEqual(nothing())
  })

  test('also content of the same length under the same time, and a file that took the place of another', async () => {
    await open({ a: '1', b: '1' })
    expect(await touched('printf 2 > a; touch -d @1 a; cp b c; touch -r b c; mv c b')).toEqual({
      ...nothing(),
      changed: ['a', 'b'],
    })
  })

  test('links are told as such and never followed; .git, node_modules and ignored files are told apart', async () => {
    await open({ '.gitignore': 'out/\n*.log\n', 'sub/.ignore': 'x\n', '.git/config': '', 'node_modules/m/i.js': '' })
    symlinkSync(folder.outside, join(folder.path, 'away'))
    symlinkSync('sub', join(folder.path, 'near'))
    writeFileSync(join(folder.outside, 'theirs'), '1')
    const command =
      'mkdir out; > out/a; > b.log; > .git/HEAD; > node_modules/m/j.js; > sub/x; > near/y; ln -sfn nowhere away; ls deep'
    expect(await touched(command)).toEqual({
      ...nothing(),
      created: ['sub/y'],
      changed: ['away'],
      ...hiddenChanges(
        command,
        ['.git/HEAD', 'b.log', 'node_modules/m/j.js', 'out/a', 'sub/x'],
        ['ignored files', 'node_modules'],
      ),
    })
  })

  test('what an ignore file hides from now on is not removed', async () => {
    await open({ a: '1', b: '1' })
    const command = 'echo a > .gitignore; rm b'
    expect(await touched(command)).toEqual({
      ...nothing(),
      created: ['.gitignore'],
      removed: ['b'],
      ...hiddenChanges(command, ['a'], ['ignored files']),
    })
  })

  test('of very many the first are named, what is lost before what is new, and the others are counted', async () => {
    await open({ z: '1', y: '1' })
    const found = await touched('rm z; echo 2 > y; for i in $(seq 1000 1299); do > $i; done')
    expect(found).toMatchObject({ changed: ['y'], removed: ['z'], more: 102 })
    expect((found as { created: string[] }).created).toHaveLength(198)
  })

  test('a command that is killed, or fails, is told of all the same', async () => {
    await open({})
    const { output, touched: seen } = await folder.call({ command: '> a; sleep 30', timeout_seconds: 1 })
    expect([output, seen]).toEqual([expect.stringContaining('killed'), { ...nothing(), created: ['a'] }])
    expect(await touched('> b; exit 3')).toEqual({ ...nothing(), created: ['b'] })
  })

  // Takes long to make.
  const inItsTurn = inTurn(['on', 'off'], 1).filter((each) => each === sandbox)
  test.each(inItsTurn)('where there are too many files nobody looks, and that is said', async () => {
    await open({})
    for (let at = 0; at < 201; at++) mkdirSync(join(folder.path, `d${at}`))
    const many = 'for d in d*; do (cd $d; for i in $(seq 100); do > $i; done); done'
    const unseen = { unseen: 'the folder has more than 20,000 entries' }
    const first = await touched(many)
    // On a busy machine looking may also take too long.
    expect([unseen, { unseen: 'scanning the folder took too long' }]).toContainEqual(first)
    expect(await folder.call({ command: 'true' })).toMatchObject({ status: 'ok', output: '[exit 0]' })
  })

  test('a directory that nobody may look into hides what is in it, and hinders nothing', async () => {
    await open({ 'closed/a': '1' })
    chmodSync(join(folder.path, 'closed'), 0)
    expect(await touched('> b')).toEqual({
      ...nothing(),
      created: ['b'],
      ...(process.getuid?.() !== 0 && { passedOver: ['directories that cannot be read'] }),
    })
    chmodSync(join(folder.path, 'closed'), 0o755)
  })
})
