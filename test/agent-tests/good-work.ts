import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PlannedTask } from '../../src/agent-tests/evidence.ts'
import type { ProviderAnswer } from '../../src/testing.ts'

/** What a good agent leaves: an answer, files that it wrote, tools that it called, a plan. */
export interface Work {
  text: string
  files?: Record<string, string>
  calls?: string[]
  plans?: PlannedTask[][]
}

const duration = `export function duration(seconds) {
  const sizes = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]
  const first = sizes.findIndex(([, size]) => seconds >= size)
  if (first === -1) return '0 s'
  let left = seconds
  const parts = sizes.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(left / size)
    left %= size
    return count === 0 ? '' : \`\${count} \${unit}\`
  })
  return parts.filter(Boolean).join(' ')
}
`

const usage = `# How to use shrink

\`\`\`
node src/shrink.mjs notes.txt
\`\`\`

Without \`--out\` the file itself is replaced.

| option | default | example |
|---|---|---|
| \`--out FILE\` | the file itself | \`node src/shrink.mjs notes.txt --out small.txt\` |
| \`--width N\` | 72 | \`node src/shrink.mjs notes.txt --width 60\` |
| \`--keep-blank\` | off | \`node src/shrink.mjs notes.txt --keep-blank\` |

Without a file it says \`shrink: no file is named\` and ends with code 2.
`

const brief = (what: string) =>
  `${what}\n\nThe program is src/notes.mjs, which reads notes by list() of src/store.mjs; notes are numbered from 1. ` +
  'Run the tests with `node --test`. It is done when search finds a word whatever its case, and all tests pass.'

/** For each of our agents, what its own test must accept. */
export const goodWork: Record<string, Work> = {
  researcher: {
    text:
      '45 seconds, decided by `config/settings.json:3`; docs/limits.md says 30 and is out of date.\n\n' +
      '- `src/upload.mjs:9` reads the setting\n- docs/limits.md:7 says 30 seconds',
    calls: ['search_files', 'read_file'],
  },
  'project-planner': {
    text: 'Done means that search works, is tested and described. First code, then README, then a review.',
    calls: ['read_file', 'plan_tasks'],
    plans: [
      [
        {
          id: 1,
          key: 'code',
          title: 'Add search',
          skill: 'coder',
          dependsOn: [],
          context: brief('Add `search WORD`.'),
        },
        { id: 2, key: 'page', title: 'Say so', skill: 'writer', dependsOn: [1], context: brief('Write README.md.') },
        { id: 3, key: 'look', title: 'Review', skill: 'code-review', dependsOn: [1, 2], context: brief('Review all.') },
      ],
    ],
  },
  coder: {
    text: 'Durations of an hour and more, and of days, are told as the comment promises.\n\nFiles:\nsrc/duration.mjs',
    files: { 'src/duration.mjs': duration },
    calls: ['read_file', 'edit_file', 'exec'],
  },
  'code-review': {
    text:
      'Verdict: not ready. It keeps one value too many, and failures are lost.\n\n' +
      '1. blocks, src/cache.mjs:35: the failure is swallowed\n2. blocks, `src/cache.mjs:21-24`: one too many\n' +
      '3. should be fixed, src/cache.mjs:15: reading is no use',
    calls: ['read_file', 'exec'],
  },
  writer: {
    text: 'Somebody new can use shrink now.\n\nSources: src/shrink.mjs\n\nFiles:\n- docs/usage.md',
    files: { 'docs/usage.md': usage },
    calls: ['read_file', 'write_file'],
  },
  tester: {
    text:
      'It works except for decimals, files without numbers, and the line that an error names.\n\n' +
      '1. `printf "1.5\\n" > /tmp/a; node src/total.mjs /tmp/a` says 1\n2. an empty file ends in a TypeError\n' +
      '3. the first line is called line 0',
    calls: ['read_file', 'exec', 'exec'],
  },
}

/** What the test of one of our agents asks. */
export const taskOf = (name: string) =>
  readFileSync(join(import.meta.dirname, `../../agents/${name}.test/task.md`), 'utf8').trim()

/** Good work as a model does it: it reads, then writes, plans and tries out, and then answers. */
export function replies({ text, files = {}, calls = [], plans: [plan] = [] }: Work): ProviderAnswer[] {
  const keys = new Map(plan?.map(({ id, key }) => [id, key]))
  const tasks = plan?.map(({ id: _, dependsOn, ...task }) => ({
    ...task,
    depends_on: dependsOn.map((id) => keys.get(id)),
  }))
  return [
    call('read_file', { path: 'README.md' }),
    ...Object.keys(files).map((path) => call('read_file', { path })),
    ...Object.entries(files).map(([path, content]) => call('write_file', { path, content })),
    ...calls.filter((name) => name === 'exec').map((_, at) => call('exec', { command: `ls && echo ${at}` })),
    ...(tasks ? [call('plan_tasks', { project: { title: 'Search in notes' }, tasks })] : []),
    { text },
  ]
}

function call(name: string, input: unknown): ProviderAnswer {
  return { calls: [{ name, input }] }
}
