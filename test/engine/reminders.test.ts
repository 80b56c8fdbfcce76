import { afterEach, describe, expect } from 'vitest'
import { remember } from '../../src/memory/remember.ts'
import { addScore } from '../../src/store/knowledge/memories.ts'
import { databases } from '../setup/places.ts'
import { testOn } from '../setup/test-on.ts'
import { newOffice, type Office } from './test-team.ts'

const trusted = { integrity: 'trusted' as const, sources: [] }
const day = 86_400_000
const march = Date.UTC(2026, 2, 1)

describe.each(databases)('reminders on %s', (database) => {
  const test = testOn(database)
  let office: Office
  afterEach(() => office.remove())

  const keep = (content: string, at = march) =>
    office.engine.store.write('submit', (tx) => remember(tx, { content, source: 'user', label: trusted }, at, 1000))
  const linesFor = async (content: string) => {
    await office.ask(content)
    const note = office.requestsOf('coordinator').at(-1)?.note ?? ''
    return note.split('\n').filter((line) => line.startsWith('[id:'))
  }

  test('a question behind six thousand pasted characters is answered by its own words, and so is one before them', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await keep('The staging server listens on port 8443')
    await keep('The carrier Hermes answers within two seconds')
    const paste = Array.from({ length: 120 }, (_, at) => `${at}: POST /quotes carrier=hermes took ${at * 7} ms`).join(
      '\n',
    )
    expect(paste.length).toBeGreaterThan(4000)
    const reminder = '[id:1] The staging server listens on port 8443 (saved 2026-03-01)'
    expect(await linesFor(`${paste}\n\nwhich port has the staging server?`)).toEqual([reminder])
    expect(await linesFor(`which port has the staging server? the log:\n\n${paste}`)).toEqual([reminder])
    expect(await linesFor(`${paste}\nwhich port has the staging server?`)).toEqual([reminder])
  })

  test('a request between a greeting and a closing is found, also behind a paste', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await keep('The staging server listens on port 8443')
    await keep('The boat of the club has a red sail')
    const request = 'I need the port of the staging server for a demo.'
    const reminder = '[id:1] The staging server listens on port 8443 (saved 2026-03-01)'
    expect(await linesFor(`Good morning!\n\n${request}\n\nHave a nice weekend, Alex`)).toEqual([reminder])
    const paste = 'took 12 ms\n'.repeat(1000)
    expect(await linesFor(`Hello,\n\n${request}\n\n${paste}`)).toEqual([reminder])
    expect(await linesFor(`${paste}\n${request}\n\nHave a nice weekend, Alex`)).toEqual([reminder])
  })

  test('what is fenced or quoted is pasted, wherever it stands, and the rest is what the user says', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await keep('The staging server listens on port 8443')
    await keep('Invoices are sent on the fifth of each month')
    const reminder = '[id:1] The staging server listens on port 8443 (saved 2026-03-01)'
    const log = Array.from({ length: 90 }, (_, at) => `${at}: invoices are sent each month, batch ${at}`)
    const request = 'I need the port of the staging server'
    const closing = 'Thanks!\n\nBest regards\nAlex Example, Example Ltd.\nMain Street 4, Springfield'
    expect(await linesFor(`\`\`\`\n${log.join('\n')}\n\`\`\`\n${request}\n\n${closing}`)).toEqual([reminder])
    expect(await linesFor(`${log.map((line) => `> ${line}`).join('\n')}\n${request}\n\n${closing}`)).toEqual([reminder])
    expect(await linesFor(`~~~ log\n${log.join('\n')}\n~~~`)).toEqual([expect.stringContaining('Invoices')])
  })

  test('a reminder has its day, and of a long memory the part that matched', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    const other = 'The minutes of the meeting go on about something else. '.repeat(40)
    await keep(`${other}Marta signs contracts over 10,000 euros. ${other}`)
    const [line = ''] = await linesFor('who signs contracts over 10,000 euros?')
    expect(line).toContain('Marta signs contracts over 10,000 euros.')
    expect(line).toMatch(/^\[id:1\] … .* … \(saved 2026-03-01\)$/)
    expect(line.length).toBeLessThan(600)
  })

  test('the part that matched has what follows the words, also if one of them stands everywhere', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    const other = '天気と食事の話をした。'.repeat(100)
    await keep(`${other}弁護士の電話番号は零三の五五五五です。${other}`)
    expect((await linesFor('弁護士の電話番号は？'))[0]).toContain('弁護士の電話番号は零三の五五五五です。')
  })

  test('of many statements alike the one that is asked for is shown, however often others were', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (let at = 1; at <= 12; at++) await keep(`Room ${at} has the key number K${at * 37}`)
    for (const plan of ['A', 'B', 'C', 'D', 'E', 'F', 'G'])
      await keep(`Plan ${plan} of the evacuation starts at a gate`)
    for (const at of ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh'])
      await keep(`The ${at} cabinet opens with a card`)
    for (const name of ['Will', 'Ada', 'Bela', 'Cleo', 'Dora', 'Emil'])
      await keep(`The present for ${name} is in the attic`)
    for (const [question, fact] of [
      ['which key number has room 9?', 'K333'],
      ['which key number has room 3?', 'K111'],
      ['where does plan B of the evacuation start?', 'Plan B'],
      ['what opens the second cabinet?', 'The second'],
      ['where is the present for Will?', 'for Will'],
    ] as const)
      expect(await linesFor(question)).toContainEqual(expect.stringContaining(fact))
  })

  test('of statements that contradict each other the newest stands first, whatever their scores', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (let at = 0; at < 6; at++) await keep(`The staging port is ${8000 + at}`, march + at * day)
    await office.engine.store.write('submit', async (tx) => {
      for (const id of [1, 2, 3, 4, 5]) await addScore(tx, id, 20)
    })
    const lines = await linesFor('which port does staging have?')
    expect(lines).toHaveLength(5)
    expect(lines.slice(0, 2)).toEqual([
      '[id:6] The staging port is 8005 (saved 2026-03-06)',
      '[id:5] The staging port is 8004 (saved 2026-03-05)',
    ])
  })

  test('of facts of one shape about several things the one that is asked for stands first; what corrects it stands before it', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      'Server db1 has 32 GB of memory',
      'Server db2 has 64 GB of memory',
      'Die Schwester von Ada wohnt in Graz',
      'Die Schwester von Bela wohnt in Linz',
      '東京支店は九時開店',
      '大阪支店は十時開店',
      'The vault of the shop is open',
      'The vault of the shop is closed',
      'The proxy listens on port 7000',
      'The proxy listens on port 7100',
      'The EU tenant is on shard 3',
      'The EU tenant was moved to shard 7',
      'The US tenant is on shard 5',
      'The press office is led by Carla',
      'The press office moved and is led by Emil',
    ])
      await keep(fact)
    const first = async (question: string) => (await linesFor(question))[0]
    expect(await first('how much memory has db1?')).toContain('db1')
    expect(await first('how much memory has db2?')).toContain('db2')
    expect(await first('wo wohnt die Schwester von Ada?')).toContain('Graz')
    expect(await first('東京支店は何時開店？')).toContain('東京')
    expect(await first('is the vault of the shop open?')).toContain('closed')
    expect(await first('does the proxy still listen on port 7000?')).toContain('7100')
    expect(await first('on which shard is the EU tenant?')).toContain('shard 7')
    expect(await first('is the press office led by Carla?')).toContain('Emil')
  })

  test('what names something else in the place of what is asked for stands behind it, in other words as well', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      'Release 2.0 is planned for June',
      'Release 2.0 slipped to September',
      'Release 3.0 is planned for next year',
      'Das Büro in Berlin öffnet um 8',
      'Das Büro in München hat neue Zeiten und öffnet um 9',
      'Plan Pro costs 25 euros a month',
      'Plan Team costs 60 euros',
      'Port of the wiki API: 8080',
      'Port of the wiki admin UI is 8081 since March',
    ])
      await keep(fact)
    const first = async (question: string) => (await linesFor(question))[0]
    expect(await first('when is release 2.0?')).toContain('September')
    expect(await first('when is release 2.0 planned?')).toContain('September')
    expect(await first('wann öffnet das Büro in Berlin?')).toContain('um 8')
    expect(await first('how much is plan Pro?')).toContain('25')
    expect(await first('port of the wiki API?')).toContain('8080')
  })

  test('what corrects a name stands before it, even if its other words all differ', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      'Anna is the lead of Payments',
      'Bob is the lead of Payments now',
      'Lena is on holiday in Rome until 20 November',
      'Lena is on holiday in Oslo until December',
      'We use Postgres 16 in production',
      'We use Postgres 17 everywhere since August',
      'Das Lager ist in Kiel am Bahnhof',
      'Das Lager ist in Bonn seit dem Umzug',
      'The API port is 8080',
      'API listens on 9090 now',
    ])
      await keep(fact)
    const first = async (question: string) => (await linesFor(question))[0]
    expect(await first('is Anna the lead of Payments?')).toContain('Bob')
    expect(await first('is Lena in Rome?')).toContain('Oslo')
    expect(await first('do we use Postgres 16?')).toContain('17')
    expect(await first('ist das Lager in Kiel?')).toContain('Bonn')
    expect(await first('what is the API port?')).toContain('9090')
  })

  test('what is said again counts as said now: it stands before what was said in between, in other words as well', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await keep('The staging port is 8443')
    await keep('The staging port is 9443', march + 10 * day)
    expect(await keep('the staging port is 8443.', march + 20 * day)).toMatchObject({
      id: 1,
      isMerged: true,
      near: [{ id: 2 }],
    })
    expect(await linesFor('which port does staging have?')).toEqual([
      '[id:1] The staging port is 8443 (saved 2026-03-21)',
      '[id:2] The staging port is 9443 (saved 2026-03-11)',
    ])
    await keep('Bob is responsible for invoices')
    await keep('Invoices are now handled by Carla', march + 10 * day)
    await keep('Bob is responsible for invoices', march + 20 * day)
    expect((await linesFor('who is responsible for invoices?'))[0]).toContain('Bob')
  })

  test('what fits much worse than the best is left out, and small talk reminds of nothing', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await keep('The login cookie expires after 14 days')
    await keep('The tenant acme uses the region eu-west-3')
    await keep('The region around the lake has no reception')
    expect(await linesFor('thanks, that is what I need. Please go on with the next one')).toEqual([])
    expect(await linesFor('which region does the tenant acme use?')).toEqual([
      '[id:2] The tenant acme uses the region eu-west-3 (saved 2026-03-01)',
    ])
  })

  test('of several questions each is answered, also where one has far more words, and beside much that is only told', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      'The rent is 1,240 euros',
      'The tax adviser is Mrs. Brandt',
      'The deploy script of the shop is scripts/deploy-prod.sh',
      'The gym is closed on Mondays',
      'The dishwasher shows E15 when the hose leaks',
    ])
      await keep(fact)
    const of = async (content: string) => (await linesFor(content)).map((line) => line.slice(0, 6)).sort()
    const script = 'what is the deploy script of the shop called, scripts/deploy-shop.sh?'
    expect(await of(`${script} and who is my tax adviser?`)).toEqual(['[id:2]', '[id:3]'])
    expect(await of('Please look up:\n- the rent\n- the adviser for the tax')).toEqual(['[id:1]', '[id:2]'])
    const told =
      'Good morning. Yesterday the team sat together and talked about the holiday plans, the new office chairs, the ' +
      'weather in the mountains and a customer who never answers. I was asked to prepare the contract for him and to check ' +
      'all the numbers once more, and then the plumber came.'
    expect(await of(`${told} So, before he leaves: what is the rent?`)).toEqual(['[id:1]'])
  })

  test('yes, no and the number of an option remind of nothing', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      '会社の食堂は十一時に開きます',
      '鍵はお願いしてください',
      'Redis has no password',
      'Yes means approval',
      'My blood type is B',
      'Tyres need 2 bar',
    ])
      await keep(fact)
    for (const said of [
      'no',
      'yes, go on',
      'b',
      '2',
      'take the second one, 2 is enough',
      'thanks a lot, see you!',
      'はい、お願いします',
      'ありがとうございます',
    ])
      expect(await linesFor(said), said).toEqual([])
    expect(await linesFor('which type of blood?')).toHaveLength(1)
  })

  test('a word with a hyphen finds what has it in one', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of ['standup is at 9:30', 'The wifi is called Nest', 'Das WLAN-Passwort ist oak-river'])
      await keep(fact)
    expect(await linesFor('when is the stand-up?')).toEqual([expect.stringContaining('standup')])
    expect(await linesFor('wi-fi name?')).toEqual([expect.stringContaining('wifi')])
    expect(await linesFor('W-LAN?')).toEqual([expect.stringContaining('WLAN')])
    expect(await linesFor('oak‑river')).toEqual([expect.stringContaining('oak-river')])
  })

  test('of many facts on one subject the one with the verb of the question is shown, which alone reminds of nothing', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      'works at the museum',
      'likes tulips',
      'plays chess',
      'drives a Fiat',
      'has a cat',
      'speaks Dutch',
      'collects stamps',
    ])
      await keep(`Anna ${fact}`)
    expect(await linesFor('where does Anna work?')).toContainEqual(expect.stringContaining('museum'))
    expect(await linesFor('what does Anna like?')).toContainEqual(expect.stringContaining('tulips'))
    expect(await linesFor('how does it work? I need and like it')).toEqual([])
    expect(await linesFor('how does the zither work?')).toEqual([])
  })

  test('Japanese particles alone remind of nothing', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    for (const fact of [
      '猫の名前はミケです',
      '定例会議は水曜日に変わりました',
      'えびの料理は苦手です',
      '鍵は棚の上にある',
    ])
      await keep(fact)
    for (const said of ['今日の天気は？', 'おすすめの本は？', 'この文を英語に訳して'])
      expect(await linesFor(said), said).toEqual([])
    expect(await linesFor('えびは？')).toEqual([expect.stringContaining('えび')])
  })

  test('words that many memories have find together what a rare word beside the point would hide', async () => {
    office = await newOffice(database, { coordinator: () => ({ text: 'ok' }) })
    await office.engine.store.write('submit', async (tx) => {
      const keepAll = async (count: number, text: (at: number) => string) => {
        for (let at = 0; at < count; at++)
          await remember(tx, { content: text(at), source: 'user', label: trusted }, march, 1000)
      }
      await keepAll(110, (at) => `Milestone ${at} of project Walnut was reviewed`)
      await keepAll(1, () => 'The deadline of project Walnut is the third of May')
      await keepAll(110, (at) => `Ticket ${at} has a deadline in autumn`)
      await keepAll(1, () => 'Otto drinks tea at four')
    })
    const deadline = expect.stringContaining('The deadline of project Walnut is the third of May')
    expect(await linesFor('when is the deadline of project Walnut?')).toContainEqual(deadline)
    expect(await linesFor('asked over tea: when is the deadline of project Walnut?')).toContainEqual(deadline)
  })

  test('rows of memory_query have the day on which they were saved', async () => {
    office = await newOffice(database, {
      coordinator: (said, last) =>
        last === 'go' ? { calls: [{ name: 'memory_query', input: { query: 'port' } }] } : { text: said.at(-1) ?? '' },
    })
    await keep('The port is 8080')
    expect(JSON.parse((await office.ask('go')).text).memories).toMatchObject([{ id: '[id:1]', date: '2026-03-01' }])
  })
})
