import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { nothingProtected } from '../../src/domain/tools/path-handle.ts'
import {
  notInstalled,
  notThisSystem,
  notWorking,
  type SystemFacts,
  tooOld,
} from '../../src/tools/exec/sandbox/advice.ts'
import { bwrapArguments } from '../../src/tools/exec/sandbox/bwrap-arguments.ts'
import { identityIn } from '../../src/tools/exec/sandbox/identity.ts'
import { viewOf } from '../../src/tools/exec/sandbox/view.ts'
import { testAsRoot } from '../setup/root.ts'
import { commandFolder, nobody } from './command-folder.ts'

const place = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-sandbox-')))
chmodSync(place, 0o755)
afterAll(() => rmSync(place, { recursive: true, force: true }))

const self = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 }

describe('a sandbox that does not hold is none', () => {
  const program = join(import.meta.dirname, 'exec-program.ts')
  const answers = (script: string): unknown[] => {
    const args = [
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-ec',
      script,
      'sh',
      process.execPath,
      program,
      place,
      'true',
    ]
    const text = execFileSync('unshare', args, { encoding: 'utf8' })
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  const refused = expect.objectContaining({ error: 'no tool named "exec"; available: exec' })

  test('where the system lets nobody make namespaces', () => {
    expect(answers('echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"')).toEqual([
      {
        why: expect.stringContaining('the sandbox did not start: '),
        remedy: 'sudo sysctl -w user.max_user_namespaces=15000 (and in /etc/sysctl.d to keep it)',
      },
      refused,
    ])
  })

  test('where not even a process can be started', () => {
    expect(answers('ulimit -n 30; exec "$@"')).toEqual([
      { why: expect.stringContaining('the command could not be started: '), remedy: expect.any(String) },
      refused,
    ])
  })

  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for the shell
  const lying = 'shift_to() { while [ "${1:---}" != -- ]; do shift; done; shift; exec "$@"; }'
  test.each([
    [
      'that is one by name only',
      `echo '{ "exit-code": 0 }' >&3; ${lying}; shift_to "$@"`,
      'files outside of the sandbox can be read',
    ],
    ['that runs nothing', `echo '{ "exit-code": 0 }' >&3`, 'commands do not work in the sandbox'],
    ['that fails', 'echo "bwrap: no way" >&2; exit 1', 'the sandbox did not start: bwrap: no way'],
  ])('%s', (_, script, why) => {
    const fake = join(place, 'bwrap')
    writeFileSync(fake, `#!/bin/bash\n${script}\n`)
    chmodSync(fake, 0o755)
    expect(answers(`mount --bind ${fake} /usr/bin/bwrap; exec "$@"`)).toEqual([
      { why: expect.stringContaining(why), remedy: expect.any(String) },
      refused,
    ])
  })
})

describe('what is in the way is told with the command that clears it', () => {
  const facts: SystemFacts = {
    release: 'ID=debian\n',
    apparmor: undefined,
    namespaces: '100',
    unprivileged: undefined,
    isContainer: false,
  }

  test.each([
    ['ID=debian\n', 'sudo apt-get install -y bubblewrap'],
    ['NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', 'sudo apt-get install -y bubblewrap'],
    ['ID=fedora\n', 'sudo dnf install -y bubblewrap'],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'sudo dnf install -y bubblewrap'],
    ['ID=alpine\n', 'sudo apk add bubblewrap'],
    ['ID=arch\n', 'sudo pacman -S --noconfirm bubblewrap'],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', 'sudo zypper install -y bubblewrap'],
    ['ID=constructor\n', 'install bubblewrap with your package manager'],
  ])('a missing package on %j', (release, remedy) => {
    expect(notInstalled('bubblewrap', { ...facts, release })).toEqual({ why: 'bubblewrap is not installed', remedy })
  })

  test.each([
    [{ apparmor: '1' }, /apparmor\.d\/bwrap/],
    [{ apparmor: '1', isContainer: true }, /--security-opt seccomp=unconfined/],
    [{ unprivileged: '0' }, /unprivileged_userns_clone=1/],
    [{ namespaces: '0' }, /max_user_namespaces=15000/],
    [{}, /bwrap --unshare-all/],
  ])('a sandbox that does not start, with %o', (more, remedy) => {
    expect(notWorking('why', { ...facts, ...more })).toEqual({
      why: 'why',
      remedy: expect.stringMatching(remedy),
    })
  })

  test('other systems, and old versions', () => {
    expect(notThisSystem('darwin').why).toBe('there is no sandbox for macOS yet')
    expect(tooOld('0.6.1', facts).why).toBe('bubblewrap 0.6.1 is too old: 0.8 or newer is needed')
  })
})

describe('what commands see', () => {
  const folder = join(place, 'folder')
  mkdirSync(join(folder, 'home'), { recursive: true })
  const view = (more: object = {}, env: NodeJS.ProcessEnv = {}) =>
    viewOf({ folder, protect: nothingProtected, network: false, ...more }, self, env)

  test('is never the whole machine, nor a place of the kernel, nor the home of the runtime', async () => {
    for (const each of ['/', '/proc', '/sys/kernel', '/dev/shm'])
      await expect(view({ folder: each })).rejects.toMatchObject({ code: 'forbidden' })
    await expect(view({ protect: { ...nothingProtected, hidden: [place] } })).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(view({ protect: { ...nothingProtected, hidden: [folder] } })).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(view({ folder: join(place, 'none') })).rejects.toMatchObject({ code: 'folder_missing' })
  })

  test('holds the names of servers only where there is a network', async () => {
    expect((await view()).readable).not.toContain('/etc/resolv.conf')
    expect((await view({ network: true })).readable).toContain('/etc/resolv.conf')
  })

  test('holds programs of the PATH with what they belong to, and nothing of a person, of the folder or around it', async () => {
    const [go, mine] = [join(place, 'opt', 'go'), join(folder, 'bin')]
    for (const each of [join(go, 'bin'), join(place, 'plain'), mine, join(place, 'bin')])
      mkdirSync(each, { recursive: true })
    const entries = [join(go, 'bin'), join(place, 'plain'), mine, join(place, 'bin'), homedir(), '/', 'relative', place]
    const seen = await view({}, { PATH: entries.join(':') })
    const ours = (paths: string[]) => paths.filter((path) => path.startsWith(place) || path.startsWith(homedir()))
    expect(ours(seen.readable)).toEqual([go, join(place, 'plain'), join(place, 'bin')])
    expect(ours(seen.path.split(':'))).toEqual([join(go, 'bin'), join(place, 'plain'), join(place, 'bin')])
  })

  test('hides what belongs to the runtime, by its real name, wherever it would show', async () => {
    symlinkSync(join(folder, 'home'), join(place, 'alias'))
    const hidden = [join(place, 'alias'), join(place, 'elsewhere'), '/usr/lib']
    const { mounts } = await view({ protect: { ...nothingProtected, hidden } })
    expect(mounts).toEqual(
      [realpathSync('/usr/lib'), join(folder, 'home')].map((path) => ({ path, kind: 'empty-directory' })),
    )
  })

  test('is told to bubblewrap with the folder after all that is read-only, and the root closed last', async () => {
    const limits = { memoryBytes: 2 ** 30, processes: 10 }
    const seen = await view({ protect: { ...nothingProtected, hidden: [join(folder, 'home')] } })
    const args = bwrapArguments({ view: seen, cwd: folder, network: false, limits, isFiltered: true }).join(' ')
    expect(args).not.toMatch(/bind \/ |--share-net|--bind-try|--dev-bind/)
    expect(args.match(/--bind \S+ \S+/g)).toEqual([`--bind ${folder} ${folder}`])
    expect(args.lastIndexOf('--ro-bind ')).toBeLessThan(args.indexOf('--bind '))
    expect(args.indexOf(`--tmpfs ${folder}/home`)).toBeGreaterThan(args.indexOf('--bind '))
    expect(args.indexOf('--remount-ro / ')).toBeGreaterThan(args.indexOf(`--tmpfs ${folder}/home`))
  })
})

describe('as whom commands run', () => {
  test('an ordinary user stays who it is', async () => {
    expect(await identityIn(place, { uid: 1234, gid: 1234 })).toEqual({ uid: 1234, gid: 1234 })
  })

  testAsRoot('root becomes the owner of the folder only where that one can get there and write', async () => {
    const make = (name: string, mode: number) => {
      const path = join(place, name, 'theirs')
      mkdirSync(path, { recursive: true })
      chownSync(path, nobody, nobody)
      chmodSync(path, mode)
      return path
    }
    const closed = make('closed', 0o755)
    chmodSync(dirname(closed), 0o700)
    const root = { uid: 0, gid: 0 }
    expect(await identityIn(make('open', 0o755), root)).toEqual({ uid: nobody, gid: nobody })
    expect(await identityIn(make('private', 0o700), root)).toEqual({ uid: nobody, gid: nobody })
    expect(await identityIn(make('read-only', 0o555), root)).toEqual(root)
    expect(await identityIn(closed, root)).toEqual(root)
    expect(await identityIn(place, root)).toEqual(root)
  })
})

describe('without a sandbox, which only the owner can want', () => {
  test('commands run as they are, within time and output, and the model is not told of walls', async () => {
    const folder = await commandFolder({ sandbox: 'off' }, { env: { ...process.env, HEDDLE_TEST_SECRET: 'secret' } })
    expect(await folder.run('pwd; ls -d /etc/shadow /root >/dev/null; env | grep -c SECRET')).toBe(
      `${folder.path}\n0\n[exit 1]`,
    )
    expect(await folder.run('echo begun; sleep 100', { timeout_seconds: 1 })).toBe(
      'begun\n[killed: timed out after 1 s]',
    )
    folder.remove()
  })
})
