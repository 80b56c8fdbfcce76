import { expect, test } from 'vitest'
import { actionOfLine, isCommandLine } from '../../src/commands/dispatch.ts'
import { registry } from '../../src/commands/registry.ts'

test.each(registry.map(({ example, action }) => [example, action]))('%s needs the right to %s', (example, action) => {
  expect(isCommandLine(example)).toBe(true)
  expect(actionOfLine(example)).toBe(action)
})

test.each([
  ['/stpo', 'there is no /stpo', 'did you mean /stop? write: /stop'],
  ['/frobnicate', 'there is no /frobnicate', 'write: /help    it lists the commands'],
  [
    '/agents frobnicate',
    'there is no /agents frobnicate',
    'write: /agents [show|register|unregister|pin|unpin|pins]    /help agents',
  ],
  [
    '/agents shwo',
    'there is no /agents shwo',
    'did you mean /agents show? write: /agents show @agent    such as: /agents show @writer',
  ],
  ['/think lots', 'use one of off, low, medium, high', 'write: /think [level]    such as: /think low'],
  ['/steer', 'the message is missing', 'write: /steer message    such as: /steer use port 8443'],
  ['/switch', 'the label is missing', 'write: /switch label    such as: /switch second-try'],
  ['/stop now', 'it does not take "now"', 'write: /stop'],
  ['/switch a --force', 'it does not take "--force"', 'write: /switch label    such as: /switch second-try'],
  ['/fork --as x', 'it takes no --as there', 'write: /fork [turn] [label]    such as: /fork turn:4c1e07 second-try'],
  ['which port?', 'this is not a command', 'write: /help    it lists the commands'],
])('%s is refused: %s, with how to write it', (line, message, remedy) => {
  expect(() => actionOfLine(line)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(message), remedy }),
  )
})

test.each([
  ['a bidirectional override', '/switch ma\u202ein', 'the character \\u{202e}'],
  ['a zero-width space', '/switch ma\u200bin', 'the character \\u{200b}'],
  ['an escape', '/switch \u001b[2Jmain', 'the character \\u{1b}'],
  ['a NUL', '/fork a\0b', 'the character \\u{0}'],
  ['a Hangul filler', '/new a\u3164', 'the character \\u{3164}'],
  ['a no-break space', '/switch a\u00a0b', 'the character \\u{a0}'],
  ['half a pair', '/switch a\ud800', 'the character \\u{d800}'],
  ['a line break', '/switch one\ntwo', 'a line break'],
  ['a tab', '/switch one\ttwo', 'a tab'],
])('%s in a command is refused', (_, line, shown) => {
  expect(() => actionOfLine(line)).toThrow(`cannot have ${shown} in it`)
})

test('what is passed to an agent may have any character', () => {
  expect(actionOfLine('/steer use\nport 80 \u202e❤️')).toBe('run.steer')
})

test('no two commands have a name or an alias in common', () => {
  const names = registry.flatMap(({ name, aliases }) => [name, ...aliases])
  expect(names).toHaveLength(new Set(names).size)
})
