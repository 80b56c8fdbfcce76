import { expect, test } from 'vitest'
import { routeToAgent } from '../../../src/domain/profiles/route-to-agent.ts'

const agents = [
  { name: 'writer', tags: ['writing', 'docs'], triggers: ['release notes'] },
  { name: 'coder', tags: ['code'], triggers: ['fix', 'make it work'] },
]

test('a tag or a trigger that a message contains chooses its agent, and says so', () => {
  expect(routeToAgent('Bring the docs up to date', agents)).toEqual({
    agent: 'writer',
    why: 'the message has its tag "docs"',
  })
  expect(routeToAgent('please FIX this: make it work', agents)).toEqual({
    agent: 'coder',
    why: 'the message has its trigger "fix" and its trigger "make it work"',
  })
})

test('only whole words count, in their order', () => {
  expect(routeToAgent('a prefix of encoded docsets', agents)).toBeUndefined()
  expect(routeToAgent('notes about the release', agents)).toBeUndefined()
})

test('the agent with the most words counts, and of two equal ones neither', () => {
  expect(routeToAgent('fix the release notes', agents)?.agent).toBe('writer')
  expect(routeToAgent('fix the docs', agents)).toBeUndefined()
})

test('a message without such words chooses nobody, and neither do agents without words', () => {
  expect(routeToAgent('hello', agents)).toBeUndefined()
  expect(routeToAgent('...', [{ name: 'x', tags: ['!'], triggers: [''] }])).toBeUndefined()
})

test.each([
  ['iPhone', 'my iphone is broken'],
  ['iphone', 'my iPhone is broken'],
  ['readFile', 'how does read file work?'],
  ['read file', 'how does readFile work?'],
  ['Rechnungsprüfung', 'bitte zur rechnungspruefung'],
])('the trigger %s is in "%s"', (trigger, message) => {
  expect(routeToAgent(message, [{ name: 'one', tags: [], triggers: [trigger] }])?.agent).toBe('one')
})
