import { parseArgs } from 'node:util'
import { nearest } from '../src/domain/text/nearest.ts'
import { access } from './access.ts'
import { commands } from './commands.ts'
import type { Figure } from './figures.ts'
import { measureJobs } from './jobs.ts'
import { load } from './load.ts'
import { measureMachine } from './machine.ts'
import { memory } from './memory.ts'
import type { EmbedderAsked } from './memory-embedder.ts'
import { models } from './models.ts'
import { plans } from './plans.ts'
import { profiles } from './profiles.ts'
import { report } from './report.ts'
import { runs } from './runs.ts'
import { openScratch, type Scratch } from './scratch.ts'
import { search } from './search.ts'
import { subagents } from './subagents.ts'
import { talk } from './talk.ts'
import { tools } from './tools.ts'
import { turns } from './turns.ts'
import { web } from './web.ts'
import { why } from './why.ts'

/** A benchmark measures figures in one run. Figures are goals, never test assertions: a missed one exits 0 too. */
interface Benchmark {
  about: string
  run(scratch: Scratch, asked?: EmbedderAsked): Promise<Figure[]>
}

const benchmarks: Record<string, Benchmark> = {
  access: { about: 'lists in a home of ten thousand sessions; claims in another process on PostgreSQL', run: access },
  turns: { about: 'the tree of turns on SQLite against bare SQLite: append, fork, read, list, size', run: turns },
  tools: { about: 'file tools and sandboxed commands against the bare operations', run: tools },
  models: { about: 'our layer over a provider package, first word, start of commands, size', run: models },
  plans: { about: 'plans of many tasks: what coordinators are sent, claims, and size', run: plans },
  commands: { about: 'each chat command by its example, in a home of a thousand sessions', run: commands },
  subagents: {
    about: 'spawns and announcements; lists and starts with ten thousand ended sub-agents; a thousand jobs',
    run: async (scratch) => [...(await subagents(scratch)), ...(await measureJobs(scratch))],
  },
  talk: { about: 'a talk of fifty turns with tools: what is sent, and how much of it was sent before', run: talk },
  memory: { about: 'finding 300 facts in 100,000 memories; remembering one more', run: memory },
  why: { about: 'why at a million turns and 5,000 versions of a file; commands in a folder of 10,000 files', run: why },
  search: { about: 'searching 100,000 turns by words on both databases, and what the index takes', run: search },
  profiles: { about: 'a claim and a plain turn with a thousand registered agents, pins and profiles', run: profiles },
  web: {
    about: 'what the gateway adds to a request; a thousand browsers that follow events; the page in a browser',
    run: web,
  },
  load: { about: 'a thousand children, two thousand asks over the socket, four workers on one PostgreSQL', run: load },
  runs: { about: 'runs of a model that takes no time, against a bare program and peers', run: runs },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    dir: { type: 'string' },
    embedder: { type: 'string' },
    'embedder-model': { type: 'string', default: 'nomic-embed-text' },
  },
})

const [name] = positionals
if (name === undefined) {
  for (const [known, { about }] of Object.entries(benchmarks)) process.stdout.write(`${known.padEnd(10)} ${about}\n`)
  process.stdout.write('\nnpm run bench -- NAME [--json] [--dir DIR]     DIR: on the disk to measure, not in memory\n')
  process.stdout.write('memory --embedder http://127.0.0.1:11434/v1 --embedder-model NAME asks a real embedder, too\n')
} else {
  const benchmark = benchmarks[name]
  if (!benchmark) {
    const guess = nearest(name, Object.keys(benchmarks))
    process.stderr.write(
      `there is no benchmark "${name}"${guess ? `; did you mean ${guess}?` : ''} See: npm run bench\n`,
    )
    process.exit(2)
  }
  const scratch = openScratch(values.dir)
  const machine = await measureMachine(scratch)
  const { embedder: baseURL, 'embedder-model': model } = values
  const figures = await benchmark.run(scratch, baseURL === undefined ? undefined : { baseURL, model })
  process.stdout.write(report(figures, machine, values.json ? 'json' : 'table'))
  process.exit(0)
}
