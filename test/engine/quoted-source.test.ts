import { expect, test } from 'vitest'
import { quotedSource } from '../../src/engine/why/given-results.ts'
import type { Result } from '../../src/store/rows/results.ts'

const isFrom = (line: string, output: string) => quotedSource(line, [{ id: 1, output } as Result]) !== undefined

test.each([
  ['The balance is -500 euros on the account', 'The balance is 500 euros on the account'],
  ['if (user.age > 18 && user.isActive) allow(user, now)', 'if (user.age < 18 && user.isActive) allow(user, now)'],
  ['return a == b && c == d && e == f', 'return a != b && c != d && e != f'],
  ['if (!user.isReady) start(the, engine, now)', 'if (user.isReady) start(the, engine, now)'],
  ['The licence costs 500 $ for each seat', 'The licence costs 500 € for each seat'],
  ['Latency must stay < 200 ms for all users', 'Latency must stay > 200 ms for all users'],
  ['The growth was 5 % in the last quarter', 'The growth was 5 in the last quarter'],
  ['The parser is built with C++ on each machine', 'The parser is built with C# on each machine'],
  ['Never deploy on Fridays after noon, they said', 'They said: deploy on Fridays after noon, they said'],
  ['The rack in the back room of the office has four disks', 'The rack in the back room of the office has five disks'],
  ['The desk of the guard is in the hall on floor sixth', 'The desk of the guard is in the hall on floor seventh'],
  ['Der Schalter der Wache ist in der Halle im vierten', 'Der Schalter der Wache ist in der Halle im fünften'],
  ['The limit of the upload per file and user is 25 MB', 'The limit of the upload per file and user is 25 GB'],
  [
    'The release of the parser is planned for the first week of March',
    'The release of the parser is planned for the first week of April',
  ],
  [
    'Die Sitzung des Rates ist wie immer um acht im Saal am Dienstag',
    'Die Sitzung des Rates ist wie immer um acht im Saal am Montag',
  ],
  ['Nobody has access to the vault in the cellar', 'Ada has access to the vault in the cellar'],
  ["It doesn't print in colour on the second floor", 'It does print in colour on the second floor'],
  ['妹は毎朝牛乳をコップ一杯飲む', '妹は毎朝牛乳をコップ一杯飲むとは限らない'],
  ['Deploy on Fridays after noon, they said: no', 'Deploy on Fridays after noon, they said'],
])('"%s" does not quote "%s": what it says is something else', (line, output) => {
  expect(isFrom(line, output)).toBe(false)
})

test.each([
  ['- The staging server has **32 GB** of memory', 'The staging server has 32 GB of memory.'],
  ['> The staging server has `32 GB` of memory', '1. The staging server has 32 GB of memory'],
  ['The growth was 5% in the last quarter', 'We saw: the growth was 5 % in the last quarter (again)'],
  ['The balance is -500 euros on the account', '| The balance is **-500 euros** on the account |'],
  ['export const limit = (a: number) => a + 5', '```\nexport const limit = (a: number) => a + 5\n```'],
  ['- 会議は毎週火曜日の十時から始まる', '結果：会議は毎週火曜日の十時から始まる。'],
  ['Never deploy on Fridays after noon', 'The rule: never deploy on Fridays after noon'],
])('"%s" quotes "%s", however that is set', (line, output) => {
  expect(isFrom(line, output)).toBe(true)
})

test.each([
  [
    'The owner of the billing service and its database is Alice',
    'The owner of the billing service and its database is Bob',
  ],
  ['The vault door at the end of the hall is open', 'The vault door at the end of the hall is closed'],
  ['prod: the database is on host alpha in Frankfurt', 'staging: the database is on host alpha in Frankfurt'],
  ['The lease of the flat ends in 5 years', 'The lease of the flat ends in 5 months'],
  ['All users can see the records of others', 'Few users can see the records of others'],
  ['Die Sitzung im Saal des Rates ist im Herbst', 'Die Sitzung im Saal des Rates ist im Frühjahr'],
  ['The new version is deployed to the server: failed', 'The new version is deployed to the server: done'],
  ['SELECT name FROM users WHERE age = 3 ORDER BY name ASC', 'SELECT name FROM users WHERE age = 3 ORDER BY name DESC'],
  ['const total = price * quantity + tax', 'const total = price / quantity + tax'],
  ['let mask = flags & mask.of(user, group, all)', 'let mask = flags | mask.of(user, group, all)'],
  ['total += price of each item in cart', 'total -= price of each item in cart'],
  ['rm -r build dist out temp cache', 'rm -R build dist out temp cache'],
  ['- [x] Deploy the new version to staging', '- [ ] Deploy the new version to staging'],
  ['- ~~Deploy the new version to staging~~', '- Deploy the new version to staging'],
  [
    'Deploys of the shop are allowed on Fridays',
    'Are deploys of the shop allowed? Deploys of the shop are allowed on Fridays?',
  ],
  ['The staging server has enough memory for all', 'It is not true that the staging server has enough memory for all.'],
  ['The staging server has enough memory for all', 'The staging server has enough memory for all but one'],
  ['サーバーの待ち受けポートは八四四三です', 'サーバーの待ち受けポートは八四四四です'],
])('"%s" is not from "%s", however many of the words are', (line, output) => {
  expect(isFrom(line, output)).toBe(false)
})

test.each([
  [
    '| db1 | 32 GB | Frankfurt | Ada |',
    '| Host | Memory | Place | Owner |\n|---|---|---|---|\n| db1 | 32 GB   | Frankfurt | Ada |',
  ],
  ['- the staging server has 32 GB of memory', 'Ada wrote: “The staging server has 32 GB of memory!” That is enough.'],
  ['The staging server has 32 GB of memory', 'It is slow. The staging server has\n32 GB of memory. More is ordered.'],
  [
    '  return items.filter((each) => !each.isOpen);',
    'function f() {\n\treturn items.filter((each) => !each.isOpen)\n}',
  ],
  ['The keeper of the vault is Ada', 'We asked. The keeper of the vault is Ada. She has the key.'],
  ['## What the staging server still needs', '# What the staging server still needs:'],
])('"%s" is all there in "%s"', (line, output) => {
  expect(isFrom(line, output)).toBe(true)
})

test('a line that ends with the number of a result is from that one, if it quotes it', () => {
  const results = [1, 2].map((id) => ({ id, output: 'The staging server has 32 GB of memory' }) as Result)
  const from = (line: string) => quotedSource(line, results)?.id
  expect(from('The staging server has 32 GB of memory')).toBeUndefined()
  expect(from('The staging server has 32 GB of memory (result:2).')).toBe(2)
  expect(from('The staging server has 32 GB of memory. result:3')).toBeUndefined()
  expect(from('The staging server has 64 GB of memory. result:2')).toBeUndefined()
})

test('a line of a minified file quotes a result only as a whole', () => {
  const line = 'x=1;'.repeat(60_000)
  expect(isFrom(line, `Here it is: ${line}`)).toBe(true)
  expect(isFrom(line, line.slice(0, -4))).toBe(false)
})
