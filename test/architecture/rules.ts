/**
 * Who may import whom: rooms are folders below src, files at its top stand for themselves. A room may import itself.
 * ARCHITECTURE.md shows this table, and a test compares the two.
 */
export const mayImport: Record<string, readonly string[]> = {
  domain: [],
  api: ['domain'],
  store: ['domain', 'file-lock.ts', 'package-root.ts'],
  models: ['domain'],
  rehearsal: ['domain'],
  tools: ['domain', 'package-root.ts'],
  agents: ['domain'],
  'agent-tests': ['domain', 'api'],
  memory: ['domain', 'api', 'store'],
  engine: ['domain', 'api', 'store', 'tools', 'memory'],
  commands: ['domain', 'api'],
  gateway: ['domain', 'api', 'package-root.ts'],
  config: ['domain', 'file-lock.ts'],
  home: ['domain', 'api', 'config', 'package-root.ts'],
  app: [
    ...['domain', 'api', 'store', 'models', 'rehearsal', 'tools', 'agents', 'agent-tests', 'memory', 'engine'],
    ...['commands', 'config', 'home', 'system.ts', 'version.ts', 'package-root.ts'],
  ],
  cli: ['domain', 'api', 'app', 'commands', 'gateway', 'config', 'home', 'system.ts', 'version.ts'],
  testing: ['domain', 'system.ts'],
  'index.ts': ['domain', 'api', 'app', 'tools', 'config', 'home', 'version.ts'],
  'testing.ts': ['domain', 'api', 'app', 'models', 'testing', 'config', 'home'],
  'system.ts': ['domain'],
  'file-lock.ts': ['domain'],
  'version.ts': ['package-root.ts'],
  'package-root.ts': [],
}

/**
 * What the page may import: the types of the gateway, and words that a terminal says, too. Files with words import nothing, so
 * that the page loads nothing else of src.
 */
export const webMayImport = { types: 'src/gateway/api.ts', words: 'src/api/words/' }

/** The layers of the engine, the lowest first: a folder may import those before it. `runtime.ts` is everybody's. */
export const engineLayers: readonly string[] = [
  ...['model', 'turns', 'policies', 'run', 'jobs', 'files', 'plans', 'knowledge', 'views', 'search', 'why'],
]

/** What can be read in one sitting. */
export const maxLines = 400

/** The most parameters of a function in the heart: more belong together in an object with a name. */
export const maxParameters = { most: 4, folder: 'src/engine/run/' }

/** Max files directly in a folder of src. */
export const maxFiles = 32

/** Files whose exports are for users of the package. */
export const publicFiles = ['src/index.ts', 'src/testing.ts']

/** Exports that only tests use, as `path#name`, each with its reason. */
export const exportedOnPurpose = new Set([
  // Tests wait for the end of a request, whatever it asks meanwhile.
  'src/engine/run/request.ts#whenEnded',
  // Tests count what is stored.
  'src/store/rows/turns.ts#countTurns',
  // `npm run schema` writes the dumps.
  'src/store/schema-dump.ts#dumpSchema',
])

/** Local names that are exported elsewhere in src with the same meaning, as `path#name`, each with its reason. */
export const localOnPurpose = new Set([
  // A model imports only the domain, so it cannot take the engine's.
  'src/models/stream/reply-parts.ts#freeId',
  // The configuration imports the lock, so the lock cannot import it.
  'src/file-lock.ts#isCode',
])

/** Names that say nothing of what a file is about, whole or as the last word of a name. */
export const vagueNames = ['types', 'interfaces', 'common', 'index']
export const vagueWords = ['util', 'utils', 'helper', 'helpers']

export const databaseModules = /^(kysely|pg|node:sqlite|sqlite|better-sqlite3)(\/|$)/

/** Outside the store, since the configuration needs it, too: a lock without rows. */
export const lockFile = 'src/file-lock.ts'

/** A literal that starts as a statement does; DELETE alone is also a word of HTTP. */
export const sql =
  /^\s*(SELECT|INSERT|UPDATE|DELETE\s+FROM|CREATE|ALTER|DROP|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|VACUUM|WITH)\b/

/** Ways to ask the machine for time, chance or a wake-up call; all but src/system.ts get them as arguments. */
export const machine = new RegExp(
  [
    /^(Date\.now|new Date\(\)|Date\(\))$/,
    /^(performance\.now|performance\.timeOrigin|process\.hrtime|process\.hrtime\.bigint|process\.uptime)$/,
    /^(node:)?perf_hooks#(performance|\*)$/,
    /^(setTimeout|setInterval|AbortSignal\.timeout|Atomics\.wait|Atomics\.waitAsync)$/,
    /^(node:)?timers(\/promises)?$/,
    /^Math\.random$/,
    /[.#](randomBytes|randomUUID|randomInt|randomFill|randomFillSync|getRandomValues)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** Ways to wait for the event loop's next turn: the writer needs them, to end a batch, and few files besides. */
export const turns = /^(setImmediate|queueMicrotask)$/

/** One sees by turns without an input that a rush is over; the other looks at agent files once in a turn. */
export const turnWaiters = ['src/engine/run/worker/arrivals.ts', 'src/app/agents.ts']

/** What a process has only once; commands get it as an argument, so that several can run in one process. */
export const processOnly = {
  names: new RegExp(
    [
      /^process\.(stdin|stdout|stderr|cwd|chdir|exit|exitCode|env|on|once|off|addListener|removeAllListeners)$/,
      /^(node:)?process$/,
      /^(node:)?os#(homedir|\*)$/,
      /^console\./,
    ]
      .map(({ source }) => source)
      .join('|'),
  ),
  room: 'cli',
  user: 'src/cli/process-io.ts',
}

/** Who may reach the network, by a module or by what the platform has; all others get a SafeFetch as an argument. */
export const network = {
  modules: /^(node:)?(http|https|http2|net|tls|dns|dgram)(\/|$)|^undici(\/|$)/,
  moduleUsers: /^src\/(tools\/fetch|models|gateway|testing)\/|^src\/tools\/exec\/sandbox\/self-test\.ts$/,
  globals: /^(fetch|WebSocket|EventSource)$/,
  globalUsers: /^src\/models\/|^web\/src\/(api|live)\//,
}

/**
 * Tools reach files by handles and by nothing else, and programs by the sandbox. Who may import what these are made of,
 * in the rooms that hold tools; types are free.
 */
export const handlesOnly = {
  rooms: ['tools', 'engine'],
  importers: {
    'node:fs': ['src/tools/files/disk.ts', 'src/tools/exec/sandbox/host.ts'],
    'node:child_process': ['src/tools/exec/sandbox/launch.ts'],
    'src/tools/exec/sandbox/host.ts': [
      ...[
        ...[
          'advice',
          'guard-records',
          'guarded-run',
          'identity',
          'proof-cache',
          'neutral-place',
          'node-shims',
          'programs',
          'self-test',
        ],
        ...['user-programs', 'view', 'watch'],
      ].map((name) => `src/tools/exec/sandbox/${name}.ts`),
    ],
    'src/tools/exec/sandbox/launch.ts': ['src/tools/exec/sandbox/runner.ts', 'src/tools/exec/sandbox/self-test.ts'],
    'src/tools/files/disk.ts': ['src/tools/files/handle.ts'],
    'src/tools/files/handle.ts': [
      'src/tools/call.ts',
      ...['listing', 'read-contents', 'search', 'survey'].map((name) => `src/tools/files/${name}.ts`),
      ...['baseline', 'exec-guard', 'hidden-files', 'named-files', 'untrusted-files'].map(
        (name) => `src/tools/guard/${name}.ts`,
      ),
      ...[
        'src/engine/files/undo.ts',
        'src/engine/files/artifacts.ts',
        'src/engine/files/claimed-files.ts',
        'src/engine/files/file-now.ts',
      ],
    ],
  } as Record<string, readonly string[]>,
  /** Ways to a module that no import shows. */
  detours: /^(process\.(getBuiltinModule|binding|dlopen)|require)$|^(node:)?module$/,
}
