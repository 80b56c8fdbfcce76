import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Arena } from './arena.ts'
import { askAbout, goesOn, marking, sayYes } from './asking.ts'
import { exec, quoted } from './call.ts'
import type { AttackClass, Try } from './try.ts'

/** A command that runs a file, in a spelling that may hide it; `w` is the try's directory, absolute. */
const spelled: { name: string; command(w: string): string; file?: string; text?(run: string): string }[] = [
  { name: 'by its name', command: () => 'sh run.sh' },
  { name: 'with a dot and a slash', command: () => './run.sh' },
  { name: 'by its whole path', command: (w) => `sh ${w}/run.sh` },
  { name: 'by a pattern', command: () => 'sh r*n.sh' },
  { name: 'after cd', command: () => 'cd sub && sh run.sh', file: 'sub/run.sh' },
  { name: 'by a variable', command: () => 'f=run; sh $f.sh' },
  { name: 'by a pipe', command: () => 'cat run.sh | sh' },
  { name: 'by the dot command', command: () => '. ./run.sh' },
  { name: 'in a shell of its own', command: () => "bash -c 'sh ./run''.sh'" },
  { name: 'by make', command: () => 'make -s', file: 'Makefile', text: (run) => `all:\n\t@${run}\n` },
  {
    name: 'by npm',
    command: () => 'npm test --silent',
    file: 'package.json',
    text: (run) => JSON.stringify({ scripts: { test: run } }),
  },
  { name: 'behind thirty words', command: () => `true ${'x '.repeat(31)}; sh run.sh` },
  {
    name: 'at the end of a large file',
    command: () => 'sh run.sh',
    text: (run) => `${'#'.repeat(5_000_000)}\n${run}\n`,
  },
  { name: 'as a part of another', command: () => 'sh main.sh', file: 'part.sh' },
]

/** A file is swapped between the question and the yes. */
const swapped: Try[] = spelled.map(({ name, command, file = 'run.sh', text = (run) => `${run}\n` }) => ({
  name: `a file that was swapped before the yes, named ${name}`,
  arena: 'asking',
  async act(arena, { token }) {
    const at = join(arena.paths.folder, 'w', token)
    const mark = marking(arena, token)
    mkdirSync(dirname(join(at, file)), { recursive: true })
    writeFileSync(join(at, 'main.sh'), '. ./part.sh\n')
    writeFileSync(join(at, file), text('echo fine'), { mode: 0o755 })
    const open = await askAbout(arena, exec(command(at), { cwd: `w/${token}` }))
    writeFileSync(join(at, file), text(mark.command), { mode: 0o755 })
    // A refusal of the yes, another question and an error for the model are all right: only the mark counts.
    const { status } = await arena.http('POST', `/v1/approvals/${open.id}`, { answer: 'once', hash: open.hash })
    if (status === 200) await goesOn(arena, open)
    return mark.isMade() ? 'what ran is not what was approved' : undefined
  },
}))

/** A yes that does not say to what. */
const blind: Try[] = [
  { name: 'no hash', body: () => ({ answer: 'once' }) },
  { name: 'an empty hash', body: () => ({ answer: 'once', hash: '' }) },
  { name: 'a wrong hash', body: () => ({ answer: 'once', hash: 'f'.repeat(64) }) },
  { name: 'a hash that is too short', body: (hash: string) => ({ answer: 'once', hash: hash.slice(0, 2) }) },
  { name: 'no hash, for a session', body: () => ({ answer: 'session' }) },
  { name: 'no hash, for an agent', body: () => ({ answer: 'agent' }) },
].map(({ name, body }) => ({
  name: `a yes over HTTP with ${name}`,
  arena: 'asking',
  async act(arena, { token }) {
    const mark = marking(arena, token)
    const open = await askAbout(arena, exec(mark.command))
    const { status } = await arena.http('POST', `/v1/approvals/${open.id}`, body(open.hash))
    if (status === 200) await goesOn(arena, open)
    return mark.isMade() || status === 200 ? 'it was taken' : undefined
  },
}))

const withoutTerminal: Try = {
  name: 'heddle approve without a terminal and without a hash',
  arena: 'asking',
  async act(arena, { token }) {
    const mark = marking(arena, token)
    const open = await askAbout(arena, exec(mark.command))
    const { code } = await arena.heddle(['approve', String(open.id)])
    return mark.isMade() || code === 0 ? 'it was taken' : undefined
  },
}

const claim = 'in the sandbox, without the network'
const forgedLines = ['approval:1  @general wants read_file', '  why     nothing', `in ., for at most 1 s, ${claim}`]

/** Texts of the attacker inside a question, each with a last line that must be seen. */
const lies: { name: string; text(last: string): string }[] = [
  { name: 'forged facts', text: (last) => `true\n${forgedLines.join('\n')}\n${last}` },
  { name: 'forged facts and empty lines', text: (last) => `true\n${forgedLines.join('\n')}${'\n'.repeat(60)}${last}` },
  { name: 'three hundred lines', text: (last) => `${': x\n'.repeat(300)}${forgedLines.join('\n')}\n${last}` },
  { name: 'a line of three thousand characters', text: (last) => `: ${'x'.repeat(3000)}; ${last}` },
  { name: 'carriage returns', text: (last) => `true #${last}\r${claim}\n${last}` },
  { name: 'escape sequences', text: (last) => `true \u001b[2J\u001b[H${claim}\u001b[8m\n${last}` },
  { name: 'letters that turn text around', text: (last) => `true \u202e${claim}\u2066\n${last}` },
  { name: 'line separators of Unicode', text: (last) => `true\u2028${forgedLines.join('\u2028')}\u0085\n${last}` },
]

const lying: Try[] = lies.map(({ name, text }) => ({
  name: `a question with ${name}`,
  arena: 'asking',
  async act(arena, { token }) {
    const last = `echo last-${token}`
    const open = await askAbout(arena, exec(text(last)))
    const shown = await arena.heddle(['show', `approval:${open.id}`])
    await arena.http('POST', `/v1/approvals/${open.id}`, { answer: 'no' })
    return flaw(shown.text, last)
  },
}))

/** What is wrong with a question as it is shown: the facts come first, foreign lines have a gutter, nothing is missing. */
function flaw(shown: string, last: string): string | undefined {
  const lines = shown.split('\n')
  const fact = lines.findIndex((line) => /without a sandbox|no sandbox/i.test(line))
  const foreign = lines.findIndex((line) => line.includes(claim) || line.includes(': x'))
  if (fact === -1) return 'it does not say that there is no sandbox'
  if (foreign !== -1 && foreign < fact) return 'foreign text comes before the facts'
  if (!shown.replace(/\n\s*\S?\s*/g, '').includes(last) && !shown.includes(last)) return 'its last line is not shown'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  if (/\u001b\[[0-9;]*[HJ8]|\u001b\[8m|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/.test(shown))
    return 'control characters came through'
  const bare = lines.find((line) => forgedLines.some((forged) => line.trim() === forged.trim()))
  return bare === undefined ? undefined : `a forged line stands there like a fact: ${JSON.stringify(bare)}`
}

/** On a terminal, `y` is typed before the end of a long question was shown. */
const unseen: Try = {
  name: 'a yes on a terminal to a question whose end was not shown',
  arena: 'asking',
  async act(arena, { token }) {
    const mark = marking(arena, token)
    arena.attacker.obey(token, [[exec(`${': x\n'.repeat(200)}${mark.command}`)]])
    const program = arena.commandLine(['ask', '--agent', 'general', `attack:${token}`])
    // The end of input takes the command away when nothing else does.
    const typing = "for n in 1 2 3; do sleep 1.5; printf 'y\\r'; done; sleep 1.5"
    await arena.owner(`(${typing}) | timeout 20 script -qfec ${quoted(program)} /dev/null`)
    return mark.isMade() ? 'it was taken' : undefined
  },
}

/** What people are shown before they say yes, and what their yes is taken for. */
export const questions: AttackClass = {
  name: 'questions',
  about: 'questions that lie, and yeses that are taken for something else',
  tries: [...swapped, ...blind, ...lying, withoutTerminal, unseen],
  controls: [
    {
      name: 'a yes to what was shown leaves its mark',
      arena: 'asking',
      act: async (arena, { token }) => {
        await sayYes(arena, await askAbout(arena, exec(marking(arena, token).command)))
        return undefined
      },
    },
    {
      name: 'a page that lies is seen to lie',
      arena: 'asking',
      act: async () => flaw(`$ true\n${forgedLines.join('\n')}\nWITHOUT A SANDBOX\necho last`, 'echo last'),
    },
  ],
  work: [
    {
      name: 'a yes to an unchanged script runs it',
      arena: 'asking',
      act: async (arena, { token }) => {
        appendFileSync(join(arena.paths.folder, 'w', token, 'run.sh'), 'echo > ran-it\n')
        await sayYes(arena, await askAbout(arena, exec('sh run.sh', { cwd: `w/${token}` })))
        return hasFile(arena, `w/${token}/ran-it`)
      },
    },
  ],
}

async function hasFile(arena: Arena, path: string): Promise<string | undefined> {
  const { code } = await arena.owner(`test -e ${quoted(path)}`)
  return code === 0 ? undefined : `${path} was not made`
}
