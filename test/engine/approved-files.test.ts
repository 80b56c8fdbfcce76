import { appendFileSync, existsSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { inTurn } from '../setup/long.ts'
import { untilSo } from '../setup/until.ts'
import { newWorkshop, put, run, type Workshop } from './commands.ts'

// Each test runs commands, some of them in a sandbox, on machines that do other things.
vi.setConfig({ testTimeout: 120_000 })

let shop: Workshop
afterEach(() => shop.remove())

const at = (name: string) => join(shop.folder, name)
const log = () => readFileSync(at('log'), 'utf8')
const says = (word: string) => `echo ${word} >> log\n`
const large = `${says('good')}${`# ${'x'.repeat(98)}\n`.repeat(50_000)}`

describe('a command that runs a script is approved with the script as it is: a swap before the yes is asked about', () => {
  const words = Array.from({ length: 30 }, (_, n) => `w${n}`).join(' ')
  test.each<[string, string, string, string?]>([
    ['by its name', 'deploy.sh', 'sh deploy.sh'],
    ['by its whole path', 'deploy.sh', 'sh FOLDER/deploy.sh'],
    ['by a glob', 'deploy.sh', 'for f in d*.sh; do sh $f; done'],
    ['after a cd', 'sub/run.sh', 'cd sub && sh run.sh && cat log >> ../log'],
    ['at its end, behind 5 MB', 'deploy.sh', 'sh deploy.sh', large],
    ['as a makefile', 'Makefile', 'make', 'all:\n\techo good >> log\n'],
    ['as a script of npm', 'package.json', 'npm test', '{"scripts":{"test":"echo good >> log"}}'],
    ['as the 31st word', 'deploy.sh', `echo ${words} > /dev/null; sh deploy.sh`],
  ])('%s', async (_, file, command, content = says('good')) => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ [file]: content })
    await shop.ask([run(command.replace('FOLDER', shop.folder))])
    const [question] = await shop.asked()
    const evil = content.replace('good', 'evil')
    if (content === large) appendFileSync(at(file), says('evil'))
    else writeFileSync(at(file), evil)
    await shop.say(question, 'once')
    const again = await shop.askedAgain()
    expect(again.facts[0]).toMatchObject({ name: 'changed', value: expect.stringContaining(file) })
    await shop.say(again, 'no')
    expect(await shop.outcomes(1)).toEqual([expect.stringContaining('the user said no')])
    expect(() => log()).toThrow('ENOENT')
  })
})

describe('a command that waits for a yes', () => {
  test('is made when nothing has changed, and when what has changed was seen', async () => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ 'deploy.sh': says('one') })
    await shop.ask([run('sh deploy.sh'), run('sh deploy.sh')])
    const [first] = await shop.asked()
    expect(first).toMatchObject({
      change: 'sh deploy.sh',
      facts: [
        { name: 'runs', value: 'WITHOUT A SANDBOX: it can do whatever you can, for at most 60 s' },
        { name: 'where', value: shop.folder },
        { name: 'unseen', value: 'changes in files outside the folder' },
      ],
    })
    await shop.say(first, 'once')
    const [second] = await shop.asked()
    expect(log()).toBe('one\n')
    shop.write({ 'deploy.sh': says('three') })
    await shop.say(second, 'once')
    const again = await shop.askedAgain()
    expect(again.facts[0]?.value).toBe('since you were asked: deploy.sh, 16 → 18 bytes')
    await shop.say(again, 'once')
    expect(await shop.outcomes(1)).toEqual(['[exit 0]', '[exit 0]'])
    expect(log()).toBe('one\nthree\n')
    // What was compared is not kept.
    const kept = await shop.under.runtime.store.read((rows) =>
      rows.all(rows.build.selectFrom('approvals').select('baseline')),
    )
    expect(kept).toEqual([{ baseline: null }, { baseline: null }])
  })

  test('is refused when something changes a second time', async () => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ 'deploy.sh': says('one') })
    await shop.ask([run('sh deploy.sh')])
    const [first] = await shop.asked()
    shop.write({ 'deploy.sh': says('two') })
    await shop.say(first, 'once')
    const again = await shop.askedAgain()
    shop.write({ 'deploy.sh': says('three') })
    await shop.say(again, 'once')
    expect(await shop.outcomes(1)).toEqual([expect.stringContaining('changed after the user approved it')])
    expect(() => log()).toThrow('ENOENT')
  })

  test('is not held up by what its own request changed in files that it does not name', async () => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ 'a.txt': '1', 'deploy.sh': says('one') })
    await shop.ask([
      [...run('sh deploy.sh'), ...put('b.txt', '2\n'), { name: 'spawn', input: JSON.stringify([put('c.txt', '3\n')]) }],
    ])
    const [question] = await shop.asked()
    await shop.under.until(async (rows) => {
      const changes = await rows.all(rows.build.selectFrom('file_changes').select('path'))
      return changes.length === 2
    })
    await untilSo(() => existsSync(at('c.txt')) && readFileSync(at('c.txt'), 'utf8') === '3\n')
    await shop.say(question, 'once')
    await shop.outcomes(1)
    expect(log()).toBe('one\n')
  })

  test('is asked about again when its own request has changed what it names, also by a link', async () => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ 'scripts/deploy.sh': says('one') })
    symlinkSync('scripts/deploy.sh', at('go'))
    await shop.ask([[...run('sh ./go'), ...put('scripts/deploy.sh', says('evil'))]])
    const [question] = await shop.asked()
    await untilSo(() => readFileSync(at('scripts/deploy.sh'), 'utf8') === says('evil'))
    await shop.say(question, 'once')
    const again = await shop.askedAgain()
    expect(again.facts[0]?.value).toContain('scripts/deploy.sh')
    await shop.say(again, 'no')
    await shop.outcomes(1)
  })

  test.each(['eval "$(cat deploy.sh)"', 'sh $(echo ZGVwbG95LnNo | base64 -d)', 'find . -type f -exec sh {} +'])(
    'is asked about again when its own request has changed a file that it could find: %s',
    async (command) => {
      shop = await newWorkshop('sqlite', 'none')
      shop.write({ 'deploy.sh': says('one') })
      await shop.ask([[...run(command), ...put('deploy.sh', says('evil'))]])
      const [question] = await shop.asked()
      await untilSo(() => readFileSync(at('deploy.sh'), 'utf8') === says('evil'))
      await shop.say(question, 'once')
      const again = await shop.askedAgain()
      expect(again.facts[0]?.value).toContain('deploy.sh')
      await shop.say(again, 'no')
      await shop.outcomes(1)
      expect(() => log()).toThrow('ENOENT')
    },
  )

  test('and one that rewrites its script, approved together, are made one after the other', async () => {
    shop = await newWorkshop('sqlite', 'none', ['exec', 'write_file'])
    shop.write({ 'deploy.sh': says('one') })
    await shop.ask([[...run('sh deploy.sh'), ...put('deploy.sh', says('evil'))]])
    const questions = await shop.asked(2)
    // Both answers are there before anybody heeds one of them.
    await shop.rest()
    for (const question of questions) await shop.say(question, 'once')
    await shop.under.work()
    const again = await shop.askedAgain()
    expect(again.facts[0]?.value).toContain('deploy.sh')
    await shop.say(again, 'no')
    await shop.outcomes(1)
    expect(() => log()).toThrow('ENOENT')
  })

  test('names what is not compared, and compares what it names there', async () => {
    shop = await newWorkshop('sqlite', 'none')
    shop.write({ '.gitignore': 'out/\n', 'out/x.sh': says('one'), 'out/y.sh': '', 'node_modules/m/i.js': '' })
    await shop.ask([run('sh out/x.sh')])
    const [first] = await shop.asked()
    const unseen = first?.facts.find(({ name }) => name === 'unseen')
    expect(unseen?.value).toBe('changes in ignored files, node_modules, files outside the folder')
    shop.write({ 'out/y.sh': 'changed', 'node_modules/m/i.js': 'changed' })
    await shop.say(first, 'once')
    await shop.outcomes(1)
    expect(log()).toBe('one\n')

    await shop.ask([run('sh out/x.sh')])
    const [second] = await shop.asked()
    shop.write({ 'out/x.sh': says('two') })
    utimesSync(at('out/x.sh'), 0, 0)
    await shop.say(second, 'once')
    const again = await shop.askedAgain()
    expect(again.facts[0]?.value).toContain('out/x.sh')
    await shop.say(again, 'no')
    await shop.outcomes(2)
  })
})

test('a question names what lies behind a link out of the folder, and names that are not UTF-8', async () => {
  shop = await newWorkshop('sqlite', 'sandbox')
  symlinkSync('/usr/bin/env', at('tool'))
  writeFileSync(Buffer.concat([Buffer.from(`${shop.folder}/`), Buffer.from([0xff])]), '')
  await shop.ask([run('sh ./tool')])
  const [question] = await shop.asked()
  expect(question?.facts.find(({ name }) => name === 'unseen')?.value).toBe(
    'changes in files whose names are not UTF-8, files outside the folder',
  )
  await shop.say(question, 'no')
  await shop.outcomes(1)
})

describe.each(['sqlite', 'postgres'] as const)('a grant on %s', (database) => {
  // On one database without any wall while on the other with the network open.
  const bothWalls = ['none', 'network'] as const
  const walls = database === 'sqlite' ? bothWalls : bothWalls.toReversed()
  test('covers the very command in the very directory, and no other spelling of the two', async () => {
    shop = await newWorkshop(database, 'sandbox')
    shop.write({ 'deploy.sh': says('deployed'), 'sub/x': '' })
    await shop.ask([run('echo step 1: ../deploy.sh')])
    const [question] = await shop.asked()
    await shop.say(question, 'session')
    await shop.outcomes(1)
    shop.write({ '.: echo step 1/x': '' })
    await shop.ask([run('../deploy.sh', '.: echo step 1')])
    const [other] = await shop.asked()
    await shop.say(other, 'no')
    await shop.outcomes(2)
    expect(question?.covers).toBe(`exec \`echo step 1: ../deploy.sh\` in ${shop.folder}`)
    // The same directory by another name is the same.
    await shop.ask([run('echo step 1: ../deploy.sh', `${shop.folder}/sub/..`)])
    expect(await shop.outcomes(3)).toEqual(['step 1: ../deploy.sh\n[exit 0]'])
  })

  test.each(inTurn(walls, 1))(
    'that no sandbox bounds (%s) lapses with the first change that a run makes',
    async (walls) => {
      shop = await newWorkshop(database, walls)
      shop.write({ 'deploy.sh': 'echo deployed\n' })
      await shop.ask([run('sh deploy.sh')])
      const [question] = await shop.asked()
      await shop.say(question, 'session')
      await shop.outcomes(1)
      await shop.ask([run('sh deploy.sh')])
      expect(await shop.outcomes(2)).toEqual(['deployed\n[exit 0]'])
      // What people change is theirs to know.
      shop.write({ 'notes.txt': 'mine' })
      await shop.ask([run('sh deploy.sh'), put('deploy.sh', 'echo evil\n'), run('sh deploy.sh')])
      const [again] = await shop.asked()
      expect(again?.facts[0]).toMatchObject({
        name: 'lapsed',
        value: expect.stringMatching(/^your grant 1: run:\w{6} changed deploy\.sh$/),
      })
      await shop.say(again, 'no')
      expect((await shop.outcomes(3)).map((text) => text.includes('evil'))).toEqual([false, false, false])
      // It does not come back.
      await shop.ask([run('sh deploy.sh')])
      await shop.say((await shop.asked())[0], 'no')
      await shop.outcomes(4)
    },
  )

  test('in the sandbox stays: the sandbox is the wall', async () => {
    shop = await newWorkshop(database, 'sandbox')
    shop.write({ 'deploy.sh': 'echo deployed\n' })
    await shop.ask([run('sh deploy.sh')])
    const [question] = await shop.asked()
    await shop.say(question, 'session')
    await shop.outcomes(1)
    await shop.ask([put('deploy.sh', 'echo changed\n'), run('sh deploy.sh')])
    expect((await shop.outcomes(2)).at(-1)).toBe('changed\n[exit 0]')
  })

  test('does not let one reply rewrite a script and run it', async () => {
    shop = await newWorkshop(database, 'none')
    shop.write({ 'deploy.sh': 'echo deployed\n' })
    await shop.ask([run('sh deploy.sh')])
    const [question] = await shop.asked()
    await shop.say(question, 'session')
    await shop.outcomes(1)
    await shop.ask([[...run('sh deploy.sh'), ...put('deploy.sh', 'echo evil\n')]])
    const outcomes = await shop.outcomes(2)
    expect(outcomes.join()).not.toContain('evil\n')
    expect(outcomes.join()).toContain('the approval covered the folder as it was')
  })

  test.each(inTurn(walls, 1))(
    'that no sandbox bounds (%s) stays where ignored files and packages are as they were',
    async (walls) => {
      shop = await newWorkshop(database, walls)
      shop.write({
        '.gitignore': 'out/\n',
        'out/a/b.js': '1',
        'node_modules/m/i.js': '1',
        'deploy.sh': 'echo deployed\n',
      })
      await shop.ask([run('sh deploy.sh')])
      await shop.say((await shop.asked())[0], 'session')
      await shop.outcomes(1)
      await shop.ask([run('sh deploy.sh'), run('sh deploy.sh')])
      expect(await shop.outcomes(2)).toEqual(['deployed\n[exit 0]', 'deployed\n[exit 0]'])
    },
  )

  test('stays when the command itself changes ignored files, and lapses when another one does', async () => {
    shop = await newWorkshop(database, 'none')
    shop.write({ '.gitignore': 'out/\n', 'deploy.sh': 'mkdir -p out; echo $$ > out/log\n' })
    await shop.ask([run('sh deploy.sh')])
    await shop.say((await shop.asked())[0], 'session')
    await shop.outcomes(1)
    await shop.ask([run('sh deploy.sh'), run('sh deploy.sh')])
    expect(await shop.outcomes(2)).toEqual(['[exit 0]', '[exit 0]'])
    await shop.ask([run('sh ./deploy.sh')])
    await shop.say((await shop.asked())[0], 'once')
    await shop.outcomes(3)
    await shop.ask([run('sh deploy.sh')])
    const [again] = await shop.asked()
    expect(again?.facts[0]?.value).toMatch(/^your grant 1: run:\w{6} changed out\/log$/)
    await shop.say(again, 'no')
    await shop.outcomes(4)
  })

  test.each([
    ['an ignored file', 'out/x.sh', ''],
    ['an ignored file and its time', 'out/x.sh', '; touch -d @1 out/x.sh'],
    ['a file in node_modules', 'node_modules/m/x.sh', ''],
    ['the hooks of git', '.git/hooks/x.sh', ''],
  ])('lapses, too, when a command changed %s', async (_, script, more) => {
    shop = await newWorkshop(database, 'none')
    shop.write({
      '.gitignore': 'out/\n',
      '.git/HEAD': '',
      '.git/refs/x': '',
      '.git/objects/x': '',
      [script]: 'echo 1234\n',
    })
    await shop.ask([run(`sh ${script}`)])
    await shop.say((await shop.asked())[0], 'session')
    await shop.outcomes(1)
    await shop.ask([run(`echo "echo evil" > ${script}${more}`)])
    await shop.say((await shop.asked())[0], 'once')
    await shop.outcomes(2)
    await shop.ask([run(`sh ${script}`)])
    const [again] = await shop.asked()
    expect(again?.facts[0]?.value).toMatch(new RegExp(`^your grant 1: run:\\w{6} changed ${script}$`))
    await shop.say(again, 'no')
    await shop.outcomes(3)
  })

  test('lapses, too, when a command changed a file', async () => {
    shop = await newWorkshop(database, 'none')
    shop.write({ 'deploy.sh': 'echo deployed\n' })
    await shop.ask([run('sh deploy.sh')])
    await shop.say((await shop.asked())[0], 'session')
    await shop.outcomes(1)
    await shop.ask([run('echo "echo evil" > deploy.sh')])
    await shop.say((await shop.asked())[0], 'once')
    await shop.outcomes(2)
    await shop.ask([run('sh deploy.sh')])
    const [again] = await shop.asked()
    expect(again?.facts[0]?.value).toMatch(/^your grant 1: run:\w{6} changed deploy\.sh/)
    await shop.say(again, 'no')
    await shop.outcomes(3)
  })
})
