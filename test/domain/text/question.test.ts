import { describe, expect, test } from 'vitest'
import { questionTerms, tellsTopic, userPart } from '../../../src/domain/text/question.ts'

const log = Array.from({ length: 900 }, (_, at) => `${at} POST /quotes carrier=north took ${at * 7} ms`).join('\n')
const prose = 'The committee met on a rainy afternoon and discussed the proposal at length. '.repeat(400)

/** Importance of each word, and whether a memory that lacks it is worse for it. */
const weights = (message: string) =>
  new Map(questionTerms(message).map(({ forms: [word], importance, isContext }) => [word, { importance, isContext }]))
const asked = { importance: 1, isContext: false }
const beside = { importance: 0.5, isContext: true }
const pasted = { importance: 0.05, isContext: true }

test.each([
  ['behind a paste', `${log}\n\nwhich port has staging`],
  ['before a paste', `which port has staging\n\n${log}`],
  ['in the last line of a paste', `${log}\nwhich port has staging`],
  ['in the last sentence of one long line', `${prose}Which port has staging`],
  ['as a question between two pastes', `${log}\n\nWhich port has staging?\n\n${prose}`],
  ['as a request between two pastes', `${log}\n\nI need the port of staging.\n\n${log}`],
  ['above what it announces', `Say which port has staging, from this:\n${log}`],
])('what a message asks counts in full: %s', (_, message) => {
  const found = weights(message)
  expect([found.get('port'), found.get('staging')]).toEqual([asked, asked])
})

test.each([
  'Best regards,\nAlex Winter\nHead of Ports, Example Ltd\nHarbour Street 4, Bristol',
  'Thanks in advance,\n\nAlex Winter\nHead of Ports, Example Ltd',
  'Mit freundlichem Gruß\nAlex Winter\nHafenstraße 4, 20457 Hamburg',
  '-- \nAlex Winter\nHead of Ports, Example Ltd',
  'Sent from my iPhone',
])('the closing of a letter is no part of what is asked above it: %j', (closing) => {
  expect(userPart(`${log}\n\nI need the port of staging.\n\n${closing}`)).toBe('I need the port of staging.')
  expect(weights(`${log}\n\nI need the port of staging.\n\n${closing}\nAvalon`).get('avalon')).toEqual(pasted)
})

test.each(['Best regards\nBob Miller\nNorth Ltd', 'Best regards\n\nBob', 'Thanks!', 'Viele Grüße\nBob'])(
  'what follows the closing of a pasted letter is asked: %j',
  (closing) => {
    const message = `${log}\n\n${closing}\n\nTell him which port staging has`
    expect(userPart(message)).toContain('Tell him which port staging has')
  },
)

test('a Japanese question needs no question mark, and polite phrases around a request are courtesy', () => {
  const errors = '接続がタイムアウトした\n'.repeat(200)
  expect(userPart(`${errors}\n会議は何曜日ですか。\n\n${errors}`)).toContain('会議は何曜日ですか。')
  expect(userPart(`${errors}\n会議の曜日を教えて\n\nよろしくお願いいたします。`)).toBe('会議の曜日を教えて')
  expect(weights(`お疲れ様です。\n\n会議の曜日を教えて\n\n${errors}`).get('会議')).toEqual(beside)
})

test.each(['\r', '\r\n', '\n'])('a paste with line ends %j is no part of the question behind it', (lineEnd) => {
  expect(userPart(`${log}\n\nwhich port has staging`.replaceAll('\n', lineEnd))).toBe('which port has staging')
})

test('all words of a short message are its author’s, however many paragraphs it has', () => {
  const found = weights('Hello,\n\nthe port of staging, please, for the demo.\n\nThanks a lot!\n\nAlex')
  expect([found.get('port'), found.get('demo'), found.get('alex')]).toEqual([asked, asked, asked])
})

test.each([
  ['a greeting', `Good morning Alex,\n\nI need the port of staging for a demo.\n\n${log}`],
  ['a closing', `${log}\n\nI need the port of staging for a demo.\n\nThanks a lot, Alex`],
  ['both', `Hello Alex,\n\n${log}\n\nI need the port of staging for a demo.\n\nBye, Alex`],
])('a short paragraph beside %s counts, and words that it lacks do not count against a memory', (_, message) => {
  const found = weights(message)
  expect([found.get('port'), found.get('staging')]).toEqual([beside, beside])
})

test('the first sentence of a long text counts, and what lies in the middle of one that a person may have typed', () => {
  expect(weights(`Tell me the port of staging. ${prose}`).get('port')).toEqual(beside)
  const typed = `${'It was a long day and I am tired. '.repeat(15)}The port of staging is what I need. ${'I go home now and sleep. '.repeat(15)}`
  expect(weights(typed).get('port')).toEqual(beside)
})

test('every word of a long message is read', () => {
  const found = weights(`which port has staging?\n\n${log}\nWalnut was here\n${log}`)
  expect([found.get('walnut'), found.get('carrier')]).toEqual([pasted, pasted])
})

test('a log that was announced is not asked about by its last line', () => {
  expect(userPart(`why is this slow?\n\n${log}`)).toBe('why is this slow?\n')
})

test('a log below a request is not asked about by its last line, whether or not it was announced', () => {
  expect(userPart(`tell me the port of staging\n${log}`)).toBe('tell me the port of staging\n')
  expect(userPart(`Bitte den Port von Staging, das Protokoll unten\n${log}`)).toBe(
    'Bitte den Port von Staging, das Protokoll unten\n',
  )
  expect(userPart(`${log}\nthe port of staging, please`)).toContain('the port of staging, please')
})

test('the last paragraph of a short message is a request of its own, unless it is courtesy', () => {
  const letter = 'Dear team,\n\nthe crates go to the new hall, and the broker asked for two forms.\n\nRegards\nJan'
  const requests = (message: string) =>
    new Map(questionTerms(message).map(({ forms: [word], requests }) => [word, requests]))
  const found = requests(`${letter}\n\nTom asks which port staging has. Can you tell him?`)
  expect([found.get('crate'), found.get('port')]).toEqual([[0], [0, 1]])
  expect(requests(`${letter}\n\nHave a nice weekend, Alex`).get('alex')).toEqual([0])
})

test('the first paragraph above a short letter is a request of its own, unless it is a greeting', () => {
  const letter =
    'Dear team,\n\nthe crates go to the new hall, and the broker asked for two forms.\n\nRegards\nJan Winter'
  const requestsOf = (message: string, word: string) =>
    questionTerms(message).find(({ forms }) => forms.includes(word))?.requests.length
  expect(requestsOf(`tell me who has the hall key\n\n${letter}`, 'key')).toBe(2)
  expect(requestsOf(`wer hat den Hallenschlüssel\n\n${letter}`, 'hallenschlussel')).toBe(2)
  for (const greeting of ['Hi Ada and Bela', 'Good morning dear Ada', 'Hallo liebe Ada', 'Ada,', 'Ada'])
    expect(requestsOf(`${greeting}\n\n${letter}`, 'ada'), greeting).toBe(1)
})

test('each question and each item of a list is a request of its own, beside the whole', () => {
  const requests = (message: string) =>
    new Map(questionTerms(message).map(({ forms: [word], requests }) => [word, requests]))
  const asked = requests('Long day! What is the rent? And who leads the Falcon team?')
  expect([asked.get('long'), asked.get('rent'), asked.get('falcon')]).toEqual([[0], [0, 1], [0, 2]])
  const listed = requests('1. the rent\n2. the Falcon team')
  expect([listed.get('rent'), listed.get('falcon')]).toEqual([
    [0, 1],
    [0, 2],
  ])
})

test('the dot of a number ends no sentence', () => {
  const found = questionTerms('when is release 2.0 planned?')
  expect(found.map(({ requests }) => requests)).toEqual([[0], [0], [0], [0]])
})

test('of a pasted list of questions a hundred are requests', () => {
  const list = Array.from({ length: 1000 }, (_, at) => `What is the deadline of project ${at}?`).join('\n')
  const requests = questionTerms(`Who leads Falcon?\n\n${list}`).flatMap((term) => term.requests)
  expect(new Set(requests).size).toBeLessThanOrEqual(100)
  expect(requests).toContain(0)
})

test('a word with a hyphen is also looked for in one, and a memory that has only its parts is no worse', () => {
  const found = weights('when is the stand-up in the W-LAN?')
  expect([found.get('stand'), found.get('lan')]).toEqual([asked, asked])
  expect([found.get('standup'), found.get('wlan')]).toEqual([
    { importance: 1, isContext: true },
    { importance: 1, isContext: true },
  ])
})

test('a verb such as "work" counts a little beside words that say something, and nothing beside fillers', () => {
  expect([...weights('where does Anna work?')]).toEqual([
    ['anna', asked],
    ['work', { importance: 0.1, isContext: false }],
  ])
  expect(tellsTopic(['work', 'like', 'need', 'keep', 'use'])).toBe(false)
})

test('fillers, single letters, single hiragana and small numbers tell no topic', () => {
  for (const words of [['no'], ['b'], ['は', 'の'], ['2', 'the'], []]) expect(tellsTopic(words)).toBe(false)
  for (const words of [['no', 'rent'], ['8443'], ['えび']]) expect(tellsTopic(words)).toBe(true)
})

describe('what a message asks for', () => {
  const paste = Array.from({ length: 200 }, (_, at) => `line ${at}: the carrier answered with status 200`).join('\n')
  const own = (message: string) =>
    questionTerms(message)
      .filter(({ isContext }) => !isContext)
      .map(({ forms: [first] }) => first)

  test('is its end and its beginning; what lies between is read, and counts little', () => {
    const message = `have a look at this\n\n${paste}\n\nwhich port has staging?`
    expect(own(message)).toEqual(['port', 'staging'])
    const context = questionTerms(message).filter(({ isContext }) => isContext)
    expect(context.map(({ forms: [first] }) => first)).toEqual(expect.arrayContaining(['carrier', '199']))
    expect(Math.max(...context.map(({ importance }) => importance))).toBeLessThan(0.1)
  })

  test('stands also in front of what is pasted, between it, and in the last line below it', () => {
    expect(own(`which port has staging? The log:\n\n${paste}`)).toEqual(expect.arrayContaining(['port', 'staging']))
    expect(own(`${paste}\nWhich port has staging? Thanks.\n${paste}`)).toEqual(expect.arrayContaining(['port']))
    expect(own(`${paste}\nwhich port has staging`)).toEqual(['port', 'staging'])
    expect(userPart(`${paste}\nwhich port has staging`)).toBe('which port has staging')
  })

  test('is all of a message that is only fillers', () => {
    expect(own('what is it?')).toEqual(['what', 'is', 'it'])
  })

  test('is found in time however the message is made', () => {
    const began = process.cpuUsage()
    for (const hostile of [' '.repeat(500_000), '\n'.repeat(500_000), '?'.repeat(200_000), 'aB'.repeat(200_000)])
      questionTerms(hostile)
    const { user, system } = process.cpuUsage(began)
    expect((user + system) / 1000).toBeLessThan(5000)
  })
})
