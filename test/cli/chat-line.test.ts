import { expect, test } from 'vitest'
import { readChatLine } from '../../src/cli/chat/chat-line.ts'

const typed = { isTyped: true }

test.each([
  ['which port?', { kind: 'say', how: 'message', content: 'which port?' }],
  ['/etc/hosts: what is it?', { kind: 'say', how: 'message', content: '/etc/hosts: what is it?' }],
  ['/tmp/a.log\nsays this', { kind: 'say', how: 'message', content: '/tmp/a.log\nsays this' }],
  ['!no, the other one', { kind: 'say', how: 'interrupt', content: 'no, the other one' }],
  ['/steer use\nport 80', { kind: 'command' }],
  ['/frobnicate', { kind: 'command' }],
  ['heddle log --graph', { kind: 'program', argv: ['log', '--graph'] }],
  ['heddle ask "which \\"port\\"?"', { kind: 'program', argv: ['ask', 'which "port"?'] }],
  ["heddle ask 'one two' -s x", { kind: 'program', argv: ['ask', 'one two', '-s', 'x'] }],
  ['heddle', { kind: 'program', argv: [] }],
  ['heddles are part of a loom', { kind: 'say', how: 'message', content: 'heddles are part of a loom' }],
  ['heddle says:\nno', { kind: 'say', how: 'message', content: 'heddle says:\nno' }],
])('%s', (line, read) => {
  expect(readChatLine(line, typed)).toEqual(read)
})

test('in a pipe, a line that begins with heddle is a message', () => {
  const content = 'heddle log'
  expect(readChatLine(content, { isTyped: false })).toEqual({ kind: 'say', how: 'message', content })
})

test.each([
  ['!', 'write: !message'],
  ['heddle ask "which', 'write: heddle ask "which port?"'],
])('%s is refused with what to do: %s', (line, remedy) => {
  expect(() => readChatLine(line, typed)).toThrow(expect.objectContaining({ remedy }))
})
