import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/domain/model.ts'
import { removeSecret, storeSecret } from '../../src/home/secrets.ts'
import { scriptedModel, type TestApp } from '../../src/testing.ts'
import { openWorkingApp } from './working-app.ts'

const folder = '/here'
const never = new AbortController().signal
const value = 'hunter2-correct-horse'

let heddle: TestApp
const requests: ModelRequest[] = []
afterEach(async () => {
  requests.length = 0
  await heddle.remove()
})

async function open(): Promise<void> {
  const model = scriptedModel((request) => {
    requests.push(request)
    const last = request.messages.at(-1)
    const call = /^call (\w+) (.*)$/.exec(String(last?.content))
    if (last?.role === 'user' && call) return { calls: [{ name: call[1] ?? '', input: JSON.parse(call[2] ?? '') }] }
    return { text: 'done' }
  })
  heddle = await openWorkingApp({ models: [model], agent: 'coordinator' })
}

async function ask(content: string): Promise<void> {
  const { itemId } = await heddle.submit(folder, { session: 'main', content })
  await heddle.answer(folder, itemId, never)
}

async function exported(): Promise<string> {
  let file = ''
  for await (const piece of heddle.exportMemories()) file += piece
  return file
}

test('a memory with the value of a stored secret has its name wherever it is sent, shown or exported', async () => {
  await open()
  const secrets = join(heddle.home, 'secrets')
  await heddle.remember({ content: `The password of the vault is ${value}`, tags: [value] })
  expect(await exported()).toContain(value)
  await storeSecret(secrets, 'vault', value)
  const marked = 'The password of the vault is [secret:vault]'
  const { memory } = await heddle.remember({ content: `The safe opens with "${value}".` })
  expect(memory.content).toBe('The safe opens with "[secret:vault]".')
  await ask('what is the password of the vault?')
  expect(JSON.stringify(requests.at(-1)?.note)).toContain(marked)
  await ask('call memory_query {"query":"password vault"}')
  await ask(`call memory_store {"content":"The password of the vault is known"}`)
  await ask('call narrative_update {"summary":"The password is in the vault."}')
  const search = await heddle.searchMemories('password vault', { limit: 5 })
  const list = await heddle.memories({ limit: 5 })
  const shown = await heddle.show(folder, 'memory:1')
  for (const each of [requests, search, list, shown, await exported(), await heddle.forgetMemory(2)])
    expect(JSON.stringify(each)).not.toContain(value)
  for (const each of [requests, search, list, shown, await exported()]) expect(JSON.stringify(each)).toContain(marked)
  await removeSecret(secrets, 'vault')
  expect(await exported()).toContain(value)
})

test('a note with the value of a stored secret has its name, too, and a part of a longer word is left', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'pin', '9331')
  writeFileSync(join(heddle.home, 'USER.md'), 'The alarm at the warehouse has the pin 9331, not 93311.\n')
  await ask('call memory_query {"query":"alarm warehouse pin"}')
  const answer = JSON.stringify(requests.at(-1)?.messages)
  expect(answer).toContain('has the pin [secret:pin], not 93311.')
})

test('lists of summaries and the search in notes have the name of a secret, for people as well', async () => {
  await open()
  await ask(`call narrative_update {"summary":"We set the password of the vault to ${value}."}`)
  writeFileSync(join(heddle.home, 'USER.md'), `The password of the warehouse is ${value}.\n`)
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  expect(await heddle.narratives({ limit: 5 })).toMatchObject([
    { summary: 'We set the password of the vault to [secret:vault].' },
  ])
  expect(await heddle.searchFiles('password warehouse', { limit: 5 })).toMatchObject([
    { text: 'The password of the warehouse is [secret:vault].' },
  ])
})

test('a passphrase that a long note is cut within is marked in both passages', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'safe', 'crimson otters juggle seven lanterns')
  const filler = 'The keeper goes on about the warehouse and its many doors'
  const before = Array(8).fill(filler).join(' ')
  for (const more of ['so', 'so it is', 'so it is said']) {
    const note = `${before} ${more} crimson otters juggle seven lanterns ${filler}\n`
    writeFileSync(join(heddle.home, 'USER.md'), note)
    const found = await heddle.searchFiles('keeper warehouse crimson otters lanterns', { limit: 9 })
    expect(found).toHaveLength(2)
    expect(JSON.stringify(found.map(({ text }) => text))).not.toMatch(/crimson otters|seven lanterns/)
  }
})

test('who is asked to trust a memory is shown the name of a secret', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  const file = `## memory\n\nThe vault opens with ${value}\n\n<!-- memory {} -->\n`
  await heddle.importMemories(file, { name: 'memories.md', trust: false })
  const { itemId } = await heddle.submit(folder, { session: 'main', content: 'call memory_trust {"id":1}' })
  await heddle.answer(folder, itemId, never)
  const questions = await heddle.approvals()
  expect(JSON.stringify(questions)).toContain('[secret:vault]')
  expect(JSON.stringify(questions)).not.toContain(value)
})

test('neither why nor a turn that was shown a memory has the value of a stored secret, whole or cut in two', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  // The preview of a link ends within the value.
  const long = 'The keeper of the vault told us, when we asked for the third time that week, to open it with'
  for (let cut = 0; cut < 24; cut += 6) await heddle.remember({ content: `${'x'.repeat(cut)} ${long} ${value}` })
  await ask('call narrative_update {"summary":"The keeper told us about the vault [id:1].","memory_ids":[1]}')
  await ask('what opens the vault of the keeper?')
  const [last] = await heddle.log(folder, { of: 'main' })
  const turn = await heddle.show(folder, `turn:${last?.id}`)
  expect(JSON.stringify(turn)).toContain('[secret:vault]')
  const answers: unknown[] = [turn]
  for (const ref of ['memory:1', 'memory:2', 'memory:3', 'memory:4', 'narrative:1', 'main'])
    for (const forward of [false, true]) answers.push(await heddle.why(folder, ref, { forward }))
  for (const each of answers) expect(JSON.stringify(each)).not.toContain(value.slice(0, 8))
})

test('who changes a memory that is shown with marks keeps the values, and is asked to be clear where they differ', async () => {
  await open()
  const secrets = join(heddle.home, 'secrets')
  await heddle.remember({ content: `The vault opns with ${value}, ask Ada`, tags: [value] })
  await heddle.remember({ content: `The safe opens with ${value}` })
  await heddle.remember({ content: `https://x.example/${encodeURIComponent('a b c d e f g')} is "a b c d e f g"` })
  await storeSecret(secrets, 'vault', value)
  await storeSecret(secrets, 'site', 'a b c d e f g')
  await heddle.changeMemory(1, { content: 'The vault opens with [secret:vault], ask Bela', tags: ['[secret:vault]'] })
  await ask('call memory_update {"id":4,"content":"The vault opens with [secret:vault], ask Ada"}')
  await ask('call memory_store {"replaces":2,"content":"The safe is opened with [secret:vault]"}')
  await ask('call memory_store {"content":"The safe is opened with [secret:vault]"}')
  expect((await heddle.remember({ content: 'The safe is opened with [secret:vault]' })).isMerged).toBe(true)
  await expect(heddle.changeMemory(3, { content: 'It is [secret:site]' })).rejects.toMatchObject({
    code: 'ambiguous_mark',
  })
  await heddle.changeMemory(3, { content: 'See https://x.example/[secret:site], that is "[secret:site]"' })
  await heddle.remember({ content: 'The key of the attic is called [secret:attic]' })
  expect(JSON.stringify([requests, await heddle.memories({ limit: 9 })])).not.toContain(value)
  await removeSecret(secrets, 'vault')
  await removeSecret(secrets, 'site')
  expect((await heddle.memories({ limit: 9 })).map(({ content, tags }) => [content, ...tags])).toEqual([
    ['The key of the attic is called [secret:attic]'],
    ['See https://x.example/a%20b%20c%20d%20e%20f%20g, that is "a b c d e f g"'],
    [`The safe is opened with ${value}`],
    [`The vault opens with ${value}, ask Ada`, value],
  ])
})

test('each mark of a memory stands for its own value, also where a value begins as the rest of another ends', async () => {
  await open()
  const secrets = join(heddle.home, 'secrets')
  await heddle.remember({ content: 'crimson otters juggle 9331' })
  await heddle.remember({ content: 'The mark [secret:vault] hides crimson otters juggle' })
  await storeSecret(secrets, 'vault', 'crimson otters juggle')
  await storeSecret(secrets, 'pin', '9331')
  await heddle.changeMemory(2, { content: 'The mark [secret:vault] stands for [secret:vault]' })
  await storeSecret(secrets, 'word', 'secret')
  await heddle.changeMemory(1, { content: 'The pin is [secret:pin]' })
  for (const name of ['vault', 'pin', 'word']) await removeSecret(secrets, name)
  expect((await heddle.memories({ limit: 9 })).map(({ content }) => content)).toEqual([
    'The pin is 9331',
    'The mark [secret:vault] stands for crimson otters juggle',
  ])
})

test('a memory of the greatest length is kept, whatever marks it has', async () => {
  await open()
  const content = `[redacted] ${'長'.repeat(19_000)} [secret:vault]`
  expect((await heddle.remember({ content })).isMerged).toBe(false)
  expect((await heddle.remember({ content })).isMerged).toBe(true)
})

test('what the prompt has of the home is marked, too, and is not shown twice for that', async () => {
  await open()
  writeFileSync(join(heddle.home, 'USER.md'), `The vault of the warehouse opens with ${value}.\n`)
  await heddle.searchFiles('warehouse', { limit: 1 })
  await ask('hello')
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  const [earlier] = await heddle.log(folder, { of: 'main' })
  expect(JSON.stringify(await heddle.show(folder, `turn:${earlier?.id}`))).not.toContain(value)
  await ask('what opens the vault of the warehouse?')
  const { system, note } = requests.at(-1) ?? {}
  expect(system).toContain('The vault of the warehouse opens with [secret:vault].')
  expect(JSON.stringify([system, note])).not.toContain(value)
  expect(note).not.toContain('USER.md')
})

test.each([
  ['in another line', 'crimson otters juggle', 'The words: crimson otters\njuggle'],
  ['in decomposed letters', 'Zürich über alles', 'The words: Zu\u0308rich u\u0308ber alles'],
  ['in an address', 'p@ss/word:1234', 'db is postgres://app:p%40ss%2Fword%3A1234@db/x'],
  ['in an address with small digits', 'p@ss/word:1234', 'db is postgres://app:p%40ss%2fword%3a1234@db/x'],
  ['in an address in part', 'p@ss/word:1234', 'db is postgres://app:p%40ss/word:1234@db/x'],
  ['in a query', 'crimson otters juggle', 'It is https://x.example/?q=crimson+otters%20juggle'],
  ['in JSON', 'say "hi" twice', 'It is {"word":"say \\"hi\\" twice"}'],
  ['in ASCII JSON', 'Zürich/über/alles', 'It is {"word":"Z\\u00fcrich\\/\\u00FCber\\/alles"}'],
  ['in HTML', `tom&jerry<'12'>`, 'It is <p>tom&amp;jerry&lt;&#39;12&#x27;&gt;</p>'],
  ['in Markdown', 'hunter2_correct_horse', 'It is hunter2\\_correct\\_horse'],
  ['in quoted lines', 'crimson otters juggle', '> It is crimson\n> > otters\n>juggle'],
  ['at the beginning of a sentence', 'crimson otters juggle', 'Crimson otters juggle, it is'],
])('a value %s is marked as well', async (_, secret, content) => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', secret)
  expect((await heddle.remember({ content })).memory.content).toContain('[secret:vault]')
})

test('an export in which a secret is marked adds nothing where it came from', async () => {
  await open()
  const secrets = join(heddle.home, 'secrets')
  await heddle.remember({ content: `The vault opens with ${value} at noon` })
  await storeSecret(secrets, 'vault', value)
  const file = await exported()
  expect(file).toContain('The vault opens with [secret:vault] at noon')
  expect(await heddle.importMemories(file, { name: 'memories.md', trust: true })).toMatchObject({
    imported: [],
    skipped: 1,
  })
  await heddle.remember({ content: value })
  await heddle.remember({ content: `${value} is not 100% of "${value}_"; ${value}` })
  expect(await heddle.importMemories(await exported(), { name: 'memories.md', trust: true })).toMatchObject({
    imported: [],
    skipped: 3,
  })
  const other = file.replace('at noon', 'at night')
  expect((await heddle.importMemories(other, { name: 'memories.md', trust: true })).imported).toHaveLength(1)
})

test.each([
  ['9331', '倉庫の暗証番号は9331です'],
  ['秘密の鍵', '答えは秘密の鍵です'],
  ['パスワード7', '合言葉はパスワード7とする'],
  ['9331', '暗証番号：９３３１'],
  ['hunter2', 'パスワードはｈｕｎｔｅｒ２です'],
])('the value %s is marked in a text without spaces, of any width: %s', async (secret, content) => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', secret)
  const { memory } = await heddle.remember({ content })
  expect(memory.content).toContain('[secret:vault]')
  await removeSecret(join(heddle.home, 'secrets'), 'vault')
  await storeSecret(join(heddle.home, 'secrets'), 'other', '93')
  expect((await heddle.memories({ limit: 1 }))[0]?.content).toBe(content)
})

test('each value has the name of its own secret, also if another one begins with it', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  await storeSecret(join(heddle.home, 'secrets'), 'safe', `${value}-two`)
  const { memory } = await heddle.remember({ content: `The safe has ${value}-two and the vault ${value}` })
  expect(memory.content).toBe('The safe has [secret:safe] and the vault [secret:vault]')
})

test('a long value is marked in the middle of a word, too', async () => {
  await open()
  await storeSecret(join(heddle.home, 'secrets'), 'vault', value)
  const { memory } = await heddle.remember({ content: `The link is https://x.example/a${value}b` })
  expect(memory.content).toBe('The link is https://x.example/a[secret:vault]b')
})

test('the question whether a memory is to be trusted loses its words once it is forgotten', async () => {
  await open()
  const file = '## memory\n\nWalnut ships from Oslo\n\n<!-- memory {} -->\n'
  await heddle.importMemories(file, { name: 'memories.md', trust: false })
  const { itemId } = await heddle.submit(folder, { session: 'main', content: 'call memory_trust {"id":1}' })
  await heddle.answer(folder, itemId, never)
  const told = async () =>
    JSON.stringify([
      await heddle.approvals(),
      await heddle.show(folder, 'approval:1'),
      await heddle.why(folder, 'approval:1', {}),
    ])
  expect(await told()).toContain('Oslo')
  await heddle.forgetMemory(1)
  expect(await told()).not.toContain('Oslo')
})

test('what was kept as a memory is in no event, and so in none that stays when it is forgotten', async () => {
  await open()
  await ask('call memory_store {"content":"Walnut ships from Oslo"}')
  await ask('call narrative_update {"summary":"Walnut ships from Oslo, we said."}')
  await heddle.forgetMemory(1)
  const events = await heddle.events({ limit: 1000 })
  expect(events.filter(({ kind }) => kind === 'run.ended')).toHaveLength(2)
  expect(JSON.stringify(events)).not.toContain('Oslo')
})
