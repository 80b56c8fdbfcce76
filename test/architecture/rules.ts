/** Who may import whom: rooms are folders below src, files at its top stand for themselves. A room may import itself. */
export const mayImport: Record<string, readonly string[]> = {
  domain: [],
  store: ['domain'],
  models: ['domain'],
  tools: ['domain', 'store'],
  skills: ['domain', 'store'],
  agents: ['domain'],
  memory: ['domain', 'store'],
  engine: ['domain', 'store', 'tools', 'skills', 'agents', 'memory'],
  gateway: ['domain'],
  cli: [
    ...['domain', 'gateway', 'app.ts', 'app-models.ts', 'app-agents.ts', 'config', 'home', 'doctor.ts'],
    ...['app-agent-tests.ts', 'app-untrusted.ts', 'system.ts', 'version.ts'],
  ],
  'version.ts': [],
  'system.ts': ['domain'],
  config: ['domain'],
  home: ['domain', 'config'],
  'doctor.ts': ['domain', 'store', 'config', 'home', 'tools', 'app-models.ts'],
  'app-untrusted.ts': ['tools'],
  'app-models.ts': ['domain', 'models', 'config'],
  'app-agents.ts': ['domain', 'agents', 'config', 'home'],
  'app-meaning.ts': ['domain', 'store', 'memory', 'config', 'app-models.ts'],
  'app-store.ts': ['domain', 'store', 'config', 'home', 'system.ts', 'version.ts'],
  'agent-tests': ['domain'],
  'app-agent-tests.ts': ['domain', 'agent-tests', 'app.ts', 'app-agents.ts', 'config', 'home', 'tools'],
  'app-beside.ts': ['domain', 'engine', 'memory', 'config', 'app-meaning.ts'],
  'app-engine.ts': ['domain', 'engine', 'models', 'config', 'tools', 'app-models.ts'],
  'app.ts': [
    ...['domain', 'store', 'models', 'tools', 'skills', 'agents', 'memory', 'engine', 'gateway'],
    ...[
      'app-beside.ts',
      'app-engine.ts',
      'app-agents.ts',
      'app-meaning.ts',
      'app-store.ts',
      'system.ts',
      'version.ts',
      'config',
      'home',
      'doctor.ts',
    ],
  ],
  'index.ts': ['domain', 'app.ts', 'version.ts', 'config', 'home'],
  testing: ['domain', 'system.ts'],
  'testing.ts': ['domain', 'store', 'models', 'testing', 'app.ts', 'system.ts', 'config', 'home'],
}

/** What can be read in one sitting. */
export const mostLines = 400

/** Names that say nothing of what a file is about, whole or as the last word of a name. */
export const vagueNames = ['types', 'interfaces', 'common', 'index']
export const vagueWords = ['util', 'utils', 'helper', 'helpers']

export const databaseModules = /^(kysely|pg|node:sqlite|sqlite|better-sqlite3)(\/|$)/

/** Outside the store, which is made after the configuration is read: a lock without rows. */
export const lockFile = 'src/config/lock.ts'

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

/** Ways to wait for the event loop's next turn: the writer alone needs them, to end a batch. */
export const turns = /^(setImmediate|queueMicrotask)$/

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
  moduleUsers: /^src\/(tools\/fetch|models|gateway|testing)\/|^src\/tools\/sandbox\/self-test\.ts$/,
  globals: /^(fetch|WebSocket|EventSource)$/,
  globalUsers: /^src\/models\//,
}

/**
 * Tools reach files by handles and by nothing else, and programs by the sandbox. Who may import what these are made of,
 * in the rooms that hold tools; types are free.
 */
export const handlesOnly = {
  rooms: ['tools', 'engine'],
  importers: {
    'node:fs': ['src/tools/disk.ts', 'src/tools/sandbox/host.ts'],
    'node:child_process': ['src/tools/sandbox/launch.ts'],
    'src/tools/sandbox/host.ts': [
      ...[
        ...[
          'advice',
          'guard-records',
          'guarded-run',
          'identity',
          'neutral-place',
          'node-shims',
          'programs',
          'self-test',
        ],
        ...['user-programs', 'view', 'watch'],
      ].map((name) => `src/tools/sandbox/${name}.ts`),
    ],
    'src/tools/sandbox/launch.ts': ['src/tools/sandbox/runner.ts', 'src/tools/sandbox/self-test.ts'],
    'src/tools/disk.ts': ['src/tools/handle.ts'],
    'src/tools/handle.ts': [
      ...[
        ...[
          'baseline',
          'call',
          'exec-guard',
          'hidden-files',
          'listing',
          'named-files',
          'search',
          'survey',
          'untrusted-files',
        ],
      ].map((name) => `src/tools/${name}.ts`),
      ...['src/engine/undo.ts', 'src/engine/artifacts.ts', 'src/engine/claimed-files.ts', 'src/engine/file-now.ts'],
    ],
  } as Record<string, readonly string[]>,
  /** Ways to a module that no import shows. */
  detours: /^(process\.(getBuiltinModule|binding|dlopen)|require)$|^(node:)?module$/,
}
