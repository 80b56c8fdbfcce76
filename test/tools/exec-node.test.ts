import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inTurn } from '../setup/long.ts'

const checkout = realpathSync(join(import.meta.dirname, '../..'))
const program = join(import.meta.dirname, 'exec-program.ts')
/** As `npm run` and `npx` put it in front of the PATH. */
const ownBin = join(checkout, 'node_modules/.bin')
const system = '/usr/local/bin:/usr/bin:/bin'
const cachedCode = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

let place: string
let home: string
let folder: string
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-node-')))
  home = join(place, 'home')
  folder = join(place, 'work', 'folder')
  for (const each of [folder, join(home, '.ssh')]) mkdirSync(each, { recursive: true })
  writeFileSync(join(home, '.ssh/key'), 'secret')
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

interface Options {
  path?: string[]
  sandbox?: 'on' | 'off'
  /** In a view of the machine in which the system has no Node. */
  withoutSystemNode?: boolean
  cwd?: string
}

/** What commands in the folder answer, for a user with this home and this PATH. */
function answers(commands: string[], { path = [], sandbox = 'on', withoutSystemNode = false, cwd }: Options): string[] {
  const hide = 'for at in /usr/local/bin /usr/bin /bin; do [ ! -e $at/node ] || mount --bind /dev/null $at/node; done'
  const args = [
    '--user',
    '--map-root-user',
    '--mount',
    'sh',
    '-ec',
    `${withoutSystemNode ? hide : ':'}; exec "$@"`,
    'sh',
  ]
  const text = execFileSync('unshare', [...args, process.execPath, program, cwd ?? folder, ...commands], {
    encoding: 'utf8',
    env: { HOME: home, PATH: [ownBin, ...path, system].join(':'), SANDBOX: sandbox, ...cachedCode },
  })
  const lines = text.trim().split('\n')
  return lines.map((line) => String(JSON.parse(line)))
}

const file = (path: string, text: string, mode = 0o644) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, mode)
}

/** An installation as it is unpacked; its Node says its version and nothing else. */
function install(directory: string, version: string): void {
  const at = (path: string) => join(home, directory, path)
  file(at('bin/node'), `#!/bin/sh\necho "node ${version}"\n`, 0o755)
  file(at('include/node/node_version.h'), '')
  file(at('lib/node_modules/npm/bin/npm-cli.js'), `#!/bin/sh\necho "npm of ${version}"\n`, 0o755)
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', at('bin/npm'))
}

const filesOf = (directory: string) =>
  ['bin/node', 'include/node/node_version.h', 'lib/node_modules/npm/bin/npm-cli.js'].map((path) =>
    join(home, directory, path),
  )
const link = (from: string, to: string) => {
  mkdirSync(dirname(join(home, from)), { recursive: true })
  symlinkSync(to, join(home, from))
}

/** Ways in which a Node is on the PATH of a user: the entry, and the installation that it leads to. */
const managers: { name: string; entry: string; installed: string; make?: () => void }[] = [
  { name: 'nvm', entry: '.nvm/versions/node/v20.11.0/bin', installed: '.nvm/versions/node/v20.11.0' },
  {
    name: 'fnm',
    entry: 'multishells/1/bin',
    installed: '.local/share/fnm/node-versions/v20.11.0/installation',
    make: () => link('multishells/1', '../.local/share/fnm/node-versions/v20.11.0/installation'),
  },
  {
    name: 'Volta',
    entry: '.volta/bin',
    installed: '.volta/tools/image/node/20.11.0',
    make() {
      file(join(home, '.volta/bin/volta-shim'), '#!/bin/sh\nexit 1\n', 0o755)
      link('.volta/bin/node', 'volta-shim')
      file(join(home, '.volta/tools/user/platform.json'), '{"node":{"runtime":"20.11.0","npm":null}}')
      install('.volta/tools/image/node/22.1.0', '22.1.0')
    },
  },
  {
    name: 'asdf',
    entry: '.asdf/shims',
    installed: '.asdf/installs/nodejs/20.11.0',
    make() {
      file(join(home, '.asdf/shims/node'), '#!/bin/sh\nexit 1\n', 0o755)
      file(join(home, '.tool-versions'), 'python 3.12.1\nnodejs 20.11.0\n')
      install('.asdf/installs/nodejs/22.1.0', '22.1.0')
    },
  },
  {
    name: 'nodenv',
    entry: '.nodenv/shims',
    installed: '.nodenv/versions/20.11.0',
    make() {
      file(join(home, '.nodenv/shims/node'), '#!/bin/sh\nexit 1\n', 0o755)
      file(join(home, '.nodenv/version'), '20.11.0\n')
      install('.nodenv/versions/9.0.0', '9.0.0')
    },
  },
  {
    name: 'mise',
    entry: '.local/share/mise/shims',
    installed: '.local/share/mise/installs/node/20.11.0',
    make() {
      file(join(home, '.local/bin/mise'), '#!/bin/sh\nexit 1\n', 0o755)
      link('.local/share/mise/shims/node', '../../../bin/mise')
      file(join(home, '.config/mise/config.toml'), '[tools]\nnode = "20"\n')
      link('.local/share/mise/installs/node/20', './20.11.0')
      install('.local/share/mise/installs/node/22.1.0', '22.1.0')
    },
  },
  {
    name: 'a link in ~/.local/bin',
    entry: '.local/bin',
    installed: '.local/share/node-v20.11.0-linux-x64',
    make: () => link('.local/bin/node', '../share/node-v20.11.0-linux-x64/bin/node'),
  },
]

describe("commands use the user's Node, and of the home they see only that installation", () => {
  test.each(inTurn(managers, 1))('$name', ({ entry, installed, make }) => {
    install(installed, '20.11.0')
    install('.nvm/versions/node/v18.0.0', '18.0.0')
    make?.()
    const [said, seen] = answers(['node; npm', `find '${home}' -type f | sort; touch '${home}/x' || echo closed`], {
      path: [join(home, entry)],
    })
    expect(said).toBe('node 20.11.0\nnpm of 20.11.0\n[exit 0]')
    expect(seen).toMatch(/Read-only file system\nclosed\n\[exit 0\]$/)
    expect(seen?.split('\n').filter((line) => line.startsWith(home))).toEqual(filesOf(installed))
  })

  test('a Node that lies among other things comes with its npm, and they do not', () => {
    install('.local', '20.11.0')
    file(join(home, '.local/share/keyrings/login'), 'secret')
    file(join(home, '.local/bin/other'), '#!/bin/sh\n', 0o755)
    const [said, seen] = answers(['node; npm', `find '${home}' -type f | sort`], { path: [join(home, '.local/bin')] })
    expect(said).toBe('node 20.11.0\nnpm of 20.11.0\n[exit 0]')
    const [node, , npm] = filesOf('.local')
    expect(seen).toBe(`${node}\n${npm}\n[exit 0]`)
  })

  test('the version that the folder asks for is used if it is installed, and nothing in the folder delays that', () => {
    const [, , volta] = managers
    install('.volta/tools/image/node/20.11.0', '20.11.0')
    volta?.make?.()
    const node = () => answers(['node'], { path: [join(home, '.volta/bin')] })
    const files = [
      ['.nvmrc', 'v22\n'],
      ['.tool-versions', 'nodejs 22.1.0\n'],
      ['package.json', '{ "volta": { "node": "22.1.0" } }'],
    ] as const
    for (const [name, text] of inTurn(files, 1)) {
      writeFileSync(join(folder, name), text)
      expect(node()).toEqual(['node 22.1.0\n[exit 0]'])
      rmSync(join(folder, name))
    }
    writeFileSync(join(folder, '.nvmrc'), '../../../../../etc\n')
    expect(node()).toEqual(['node 20.11.0\n[exit 0]'])
    rmSync(join(folder, '.nvmrc'))
    execFileSync('mkfifo', [join(folder, '.nvmrc')])
    symlinkSync('/dev/zero', join(folder, '.node-version'))
    expect(node()).toEqual(['node 20.11.0\n[exit 0]'])
  })

  test('a Node in the folder, or in the packages of another project, is none', () => {
    const [mine, theirs] = [join(folder, 'node_modules/.bin'), join(home, 'project/node_modules/.bin')]
    for (const each of [mine, theirs]) file(join(each, 'node'), '#!/bin/sh\necho planted\n', 0o755)
    install('.nvm/versions/node/v20.11.0', '20.11.0')
    const path = [mine, theirs, join(home, '.nvm/versions/node/v20.11.0/bin')]
    expect(answers(['node'], { path })).toEqual(['node 20.11.0\n[exit 0]'])
  })

  test('without a sandbox too, and nothing of heddle is on the PATH', () => {
    install('.nvm/versions/node/v20.11.0', '20.11.0')
    const entry = join(home, '.nvm/versions/node/v20.11.0/bin')
    const [said] = answers(['node; echo $PATH'], { path: [entry], sandbox: 'off' })
    expect(said).toBe(`node 20.11.0\n${entry}:${system}\n[exit 0]`)
  })
})

describe("heddle's own Node is used where there is no other", () => {
  test('and nothing in the sandbox tells where it lies', () => {
    const files = 'mountinfo mounts mountstats maps smaps environ cmdline comm auxv'
    const looks = [
      `cd /proc/self; for f in ${files}; do cat $f; done`,
      'cat /proc/mounts /proc/1/mountinfo /proc/1/environ /proc/1/cmdline; readlink /proc/self/exe /proc/1/exe; env',
      'node -p "process.execPath + process.argv + JSON.stringify(process.env) + JSON.stringify(process.config)"',
      `node -e 'console.log(new Error().stack, fs.readFileSync("/proc/self/maps", "utf8"), fs.readlinkSync("/proc/self/exe"))'`,
      'node -e "fs.readdirSync(String(1/0))" 2>&1; npm config ls -l 2>&1; ls -la /.node /.node/bin 2>&1',
    ]
    const [version, said] = answers(['node -p process.version', looks.join('; ')], { withoutSystemNode: true })
    expect(version).toBe(`${process.version}\n[exit 0]`)
    expect(said).toContain('/.node/bin/node')
    expect(
      said?.split('\n').filter((line) => line.includes(checkout) || line.includes(dirname(process.execPath))),
    ).toEqual([])
  })

  test('and nothing tells where heddle lies', () => {
    const [node, told, seen] = answers(
      [
        'node -p "process.version + process.execPath"',
        'echo $PATH; cat /proc/*/environ /proc/*/cmdline /proc/self/maps',
        `ls -d '${checkout}' '${dirname(checkout)}' '${join('/', checkout.split('/')[1] ?? '')}' && echo there`,
      ],
      { withoutSystemNode: true, cwd: join(place, 'work') },
    )
    expect(node).toBe(`${process.version}/.node/bin/node\n[exit 0]`)
    expect(told).toContain(':/.node/bin\n')
    expect(told).not.toContain(checkout)
    expect(seen).not.toContain('there\n')
  })

  test('and without a sandbox it comes last', () => {
    const [said] = answers(['echo $PATH; node -p process.version'], { sandbox: 'off', withoutSystemNode: true })
    expect(said).toBe(`${system}:${dirname(process.execPath)}\n${process.version}\n[exit 0]`)
  })
})

describe('what is bound below a temporary directory', () => {
  test.each(inTurn(['/tmp', '/var/tmp'], 1))(
    'is reached by a way that shows nothing else and cannot be written: %s',
    (temporary) => {
      const there = realpathSync(mkdtempSync(join(temporary, 'heddle-node-')))
      try {
        for (const each of ['opt/go/bin', 'opt/other', 'work/folder']) mkdirSync(join(there, each), { recursive: true })
        const tries = ['x', 'opt/x', 'opt/go/x', 'work/x'].map((path) => `touch '${join(there, path)}'`)
        const [ways, written] = answers(
          [`cd '${there}'; find . | sort`, `{ ${tries.join('; ')}; } 2>&1 | grep -c 'Read-only'; touch /tmp/x made`],
          { path: [join(there, 'opt/go/bin')], cwd: join(there, 'work/folder') },
        )
        expect(ways).toBe(
          `${['.', './opt', './opt/go', './opt/go/bin', './work', './work/folder'].join('\n')}\n[exit 0]`,
        )
        expect(written).toBe('4\n[exit 0]')
      } finally {
        rmSync(there, { recursive: true, force: true })
      }
    },
  )
})
