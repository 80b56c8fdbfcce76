import { describe, expect, test } from 'vitest'
import { questionTerms, userPart } from '../../../src/domain/text/question.ts'

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
  ['above what it announces', `Say which port has staging, from this:\n${log}`],
])('what a message asks counts in full: %s', (_, message) => {
  const found = weights(message)
  expect([found.get('port'), found.get('staging')]).toEqual([asked, asked])
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
