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

test('a line of a minified file quotes a result only as a whole', () => {
  const line = 'x=1;'.repeat(60_000)
  expect(isFrom(line, `Here it is: ${line}`)).toBe(true)
  expect(isFrom(line, line.slice(0, -4))).toBe(false)
})
