import { count } from './counted.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { linesInAll, reasonIn } from './tool-texts.ts'

const mostFiles = 5

/** Shows that an agent is wired up, where the work itself is beyond a script: its tools, and the files that it was told of. */
export function showWiring(seen: Seen, name: string): Step {
  const paths = seen.tools.has('read_file') ? pathsIn(`${seen.asked}\n${seen.brief}`) : []
  const asked = askedAll(
    seen,
    paths.map((path) => ({ name: 'read_file', input: { path, limit: 1 } })),
  )
  if ('calls' in asked) return asked
  const tools = [...seen.tools].join(', ')
  return {
    text: [
      `I am a script and cannot do this work of @${name}; a real model can: heddle models add.`,
      '',
      `@${name} was started with ${tools === '' ? 'no tools' : `the tools ${tools}`}.`,
      ...(seen.brief === '' ? [] : [`Its brief has ${count(seen.brief.split('\n').length, 'line')}.`]),
      ...(seen.before.length === 0 ? [] : [`It was given ${count(seen.before.length, 'result')} of tasks before.`]),
      ...paths.map((path, at) => `${path}: ${readIn(asked.answers[at] ?? '')}`),
    ].join('\n'),
  }
}

function readIn(text: string): string {
  const lines = linesInAll(text)
  if (lines === undefined) return `not read: ${reasonIn(text)}`
  return text.startsWith('[') && lines === 0 ? text.slice(1, -1) : count(lines, 'line')
}

/** Words that look like files. */
function pathsIn(text: string): string[] {
  const found = text.matchAll(/(?<![\w/.:@-])(?:[\w.-]+\/)*[\w-][\w.-]*\.[a-z]\w{0,4}(?![\w/])/g)
  return [...new Set([...found].map(([path]) => path))].slice(0, mostFiles)
}
