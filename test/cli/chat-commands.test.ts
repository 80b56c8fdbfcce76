import { expect, test } from 'vitest'
import { parseChatLine } from '../../src/cli/chat/chat-commands.ts'

test.each([
  ['which port?', { kind: 'say', how: 'message', content: 'which port?' }],
  ['/etc/hosts: what is it?', { kind: 'say', how: 'message', content: '/etc/hosts: what is it?' }],
  ['!no, the other one', { kind: 'say', how: 'interrupt', content: 'no, the other one' }],
  ['/steer use\nport 80', { kind: 'say', how: 'steer', content: 'use\nport 80' }],
  ['/stop', { kind: 'stop' }],
  ['/model local', { kind: 'model', name: 'local' }],
  ['/think high', { kind: 'think', level: 'high' }],
  ['/new second', { kind: 'new', label: 'second' }],
  ['/fork turn:4c1e07 second-try', { kind: 'fork', turn: 'turn:4c1e07', label: 'second-try' }],
  ['/fork', { kind: 'fork', turn: undefined, label: undefined }],
  ['/sessions', { kind: 'sessions' }],
  ['/switch second', { kind: 'switch', label: 'second' }],
  ['/exit', { kind: 'quit' }],
])('%s', (line, wish) => {
  expect(parseChatLine(line)).toEqual(wish)
})

test.each([
  ['/stpo', 'did you mean /stop?'],
  ['/frobnicate', '/help lists the commands'],
  ['/think lots', 'use one of off, low, medium, high'],
  ['/steer', 'write: /steer message'],
  ['/switch', 'write: /switch label'],
  ['!', 'write: !message'],
])('%s is refused with what to do: %s', (line, remedy) => {
  expect(() => parseChatLine(line)).toThrow(expect.objectContaining({ remedy }))
})
