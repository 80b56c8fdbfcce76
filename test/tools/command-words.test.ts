import { describe, expect, test } from 'vitest'
import { fileNameMatcher, namesAnyFile, wordsOf } from '../../src/tools/exec/command-words.ts'

const indirect = [
  'eval "$(cat deploy.sh)"',
  'bash -c "$(<deploy.sh)"',
  'sh *',
  'cat * | sh',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
  'sh ${F:-deploy.sh}',
  'sh {deploy.sh,}',
  'sh $(echo ZGVwbG95LnNo | base64 -d)',
  'ls | xargs -n1 sh',
  'find . -type f -exec sh {} +',
  "sh $'depl\\x6fy.sh'",
  'for f in *; do . "./$f"; done',
  'sh `ls`',
  'sh deplo[y].sh',
  'sh ~+/deploy.sh',
  'fd -t f -x sh',
  'ls | parallel sh',
  'ls | "ba"sh',
  'tar xOf all.tar | sudo /bin/sh -s',
  'git show HEAD|python3',
]

describe('a command that could run a file whose name is not in its text names any file', () => {
  test.each(indirect)('%s', (command) => expect(namesAnyFile(command)).toBe(true))
})

describe('a command that says what it runs does not name any file', () => {
  test.each([
    'make',
    'npm test',
    'sh deploy.sh',
    'npm test && make install; sh deploy.sh > log',
    '[ -f deploy.sh ] && sh deploy.sh',
    'make | tail -5',
    'echo find.txt || sh deploy.sh',
  ])('%s', (command) => expect(namesAnyFile(command)).toBe(false))
})

describe('words inside an expansion are words of the command', () => {
  test.each([
    'eval "$(cat deploy.sh)"',
    'bash -c "$(<deploy.sh)"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    'sh ${F:-deploy.sh}',
    'sh {deploy.sh,}',
    'sh $(echo $(echo deploy.sh))',
    'sh `echo deploy.sh`',
  ])('%s', (command) => {
    expect(wordsOf(command)).toContain('deploy.sh')
    expect(fileNameMatcher(wordsOf(command))('deploy.sh')).toBe(true)
  })
})
