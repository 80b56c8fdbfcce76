import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandFolder } from './command-folder.ts'

/** What must never be seen, and what a command says that got somewhere. */
export const canary = 'CANARY-7c1d'
export const out = 'GOT-OUT'

/** What lies around a folder, for commands to try to reach. */
export interface Surroundings {
  folder: CommandFolder
  /** Listens in TCP on 127.0.0.1 and ::1, in UDP, and as two Unix sockets. */
  ports: { tcp: number; tcp6: number; udp: number }
  sockets: { path: string; abstract: string }
  /** A process of the same user, with the canary in its environment and among its arguments. */
  process: number
}

export interface Escape {
  name: string
  command(around: Surroundings): string
  /** Who gets out by it where there is no sandbox; left out: everyone. */
  works?: 'root' | 'other' | 'nobody'
}

// Finds the canary and not itself.
const sought = `${canary.slice(0, -1)}[${canary.slice(-1)}]`
const keyctl = process.arch === 'arm64' ? 219 : 250
const then = (command: string) => `(${command}) && echo ${out}`
const connect = (to: string) =>
  `node -e "require('net').connect(${to}).on('connect', function () { console.log('${out}'); this.destroy() }).on('error', () => {})"`

/** Puts what the commands look for around the folder. */
export function setOut({ path, outside, hidden }: CommandFolder): void {
  writeFileSync(join(outside, 'secret.txt'), `${canary}\n`)
  writeFileSync(join(hidden, 'key'), `${canary}\n`)
  copyFileSync('/usr/bin/id', join(path, 'id-of-root'))
  chmodSync(join(path, 'id-of-root'), 0o4755)
}

/** Ways out. None of them does harm where it succeeds, so that each is also tried without a sandbox. */
export const escapes: Escape[] = [
  { name: 'a file beside the folder', command: ({ folder }) => `cat ${folder.outside}/secret.txt` },
  { name: 'a link to it', command: ({ folder }) => `ln -sf ${folder.outside}/secret.txt link; cat link` },
  {
    name: 'a hard link to it',
    command: ({ folder }) => `ln -f ${folder.outside}/secret.txt hard; cat hard`,
    works: 'root',
  },
  { name: 'by way of /proc/self/root', command: ({ folder }) => `cat /proc/self/root${folder.outside}/secret.txt` },
  {
    name: 'by way of /proc/1/root',
    command: ({ folder }) => `cat /proc/1/root${folder.outside}/secret.txt`,
    works: 'nobody',
  },
  { name: 'by way of another process', command: (at) => `cat /proc/${at.process}/root${at.folder.outside}/secret.txt` },
  { name: 'by way of its directory', command: (at) => `cat /proc/${at.process}/cwd/secret.txt` },
  { name: 'what is hidden in the folder', command: ({ folder }) => `cat ${folder.hidden}/key` },
  { name: 'all there is in the folder', command: () => 'grep -r . . ; cat deep/deeper/*/*' },
  { name: 'the passwords of the system', command: () => then('grep -q : /etc/shadow'), works: 'root' },
  { name: 'the users of the system', command: () => then('grep -q daemon /etc/passwd') },
  { name: 'the keys of the system', command: () => then('ls /etc/ssl/private'), works: 'root' },
  { name: 'homes', command: () => then('ls -d /root/. || ls /home/*'), works: 'root' },
  { name: 'sockets of services', command: () => then('ls -d /run/* /var/run/*') },
  { name: 'disks', command: () => then('ls /sys/block || ls /dev/disk'), works: 'root' },
  { name: 'environments', command: () => `grep -aho ${sought} /proc/*/environ; env | grep ${sought}` },
  { name: 'command lines', command: () => `grep -aho ${sought} /proc/*/cmdline` },
  { name: 'memory of another process', command: (at) => then(`head -c 1 /proc/${at.process}/maps`) },
  {
    name: 'a trace of another process',
    command: (at) => then(`timeout 0.3 strace -qq -p ${at.process}; [ $? = 124 ]`),
    works: 'root',
  },
  { name: 'a signal to another process', command: (at) => then(`kill -0 ${at.process}`) },
  { name: 'a signal to the runtime', command: () => then(`kill -0 ${process.pid}`), works: 'root' },
  { name: 'TCP', command: ({ ports }) => then(`: > /dev/tcp/127.0.0.1/${ports.tcp}`) },
  { name: 'TCP of IPv6', command: ({ ports }) => connect(`{ host: '::1', port: ${ports.tcp6} }`) },
  { name: 'UDP', command: ({ ports }) => `echo ${out} > /dev/udp/127.0.0.1/${ports.udp}` },
  { name: 'a socket outside', command: ({ sockets }) => connect(`'${sockets.path}'`) },
  {
    name: 'a socket without a file',
    // Not with Node: below 24 it pads the name of such a socket.
    command: ({ sockets }) =>
      then(`perl -MSocket -e 'socket(S, 1, 1, 0); exit(!connect(S, pack("S a*", 1, "\\0${sockets.abstract}")))'`),
  },
  { name: 'a file made outside', command: ({ folder }) => then(`echo > ${folder.outside}/made`), works: 'root' },
  { name: 'a file changed outside', command: ({ folder }) => then(`: >> ${folder.outside}/secret.txt`), works: 'root' },
  { name: 'a program of the system', command: () => then(': >> /usr/bin/env'), works: 'root' },
  {
    name: 'the Node of the user',
    command: () =>
      then('cp /bin/true "$(dirname $(which node))/made-by-test" && rm "$(dirname $(which node))/made-by-test"'),
    works: 'root',
  },
  { name: 'settings of the kernel', command: () => then(': >> /proc/sys/kernel/core_pattern'), works: 'root' },
  { name: 'settings of an interrupt', command: () => then(': >> /proc/irq/default_smp_affinity'), works: 'root' },
  { name: 'a mount', command: () => then('mkdir -p m && mount -t tmpfs none m && umount m'), works: 'root' },
  { name: 'a remount', command: () => then('mount -o remount,rw /proc'), works: 'root' },
  { name: 'a device', command: () => then('mknod null c 1 3 && rm null'), works: 'root' },
  { name: 'another root', command: () => then('chroot / true'), works: 'root' },
  { name: 'another host name', command: () => then('hostname "$(hostname)"'), works: 'root' },
  { name: 'a namespace of users', command: () => then('unshare --user true'), works: 'root' },
  {
    name: 'namespaces of users and mounts',
    command: () => then('unshare --user --mount true'),
    works: 'root',
  },
  {
    name: 'a program that becomes root',
    command: () => then('[ "$(id -u)" != 0 ] && [ "$(./id-of-root -u)" = 0 ]'),
    works: 'other',
  },
  { name: 'the owner of another file', command: () => then('touch t && chown 1:1 t'), works: 'root' },
  ...[
    'cp /usr/bin/true s && chmod u+s s && [ -u s ]',
    'cp /usr/bin/true s && chmod g+s s && [ -g s ]',
    'install -m 4755 /usr/bin/true s && [ -u s ]',
    `node -e "require('fs').writeFileSync('made-suid', '', { mode: 0o4755 })" && [ -u made-suid ]`,
    `node -e "require('fs').fchmodSync(require('fs').openSync('made-f', 'w'), 0o4755)" && [ -u made-f ]`,
    `perl -e 'sysopen(F, "made-p", 0101, 04755)' && [ -u made-p ]`,
    `touch c; perl -e '$f = "c"; exit(syscall(452, -100, $f, 04755, 0) < 0)'`,
  ].map((command) => ({ name: `a program that makes others its owner: ${command}`, command: () => then(command) })),
  { name: 'keys that the kernel holds', command: () => then(`perl -e 'exit(syscall(${keyctl}, 0, -3, 1) < 0)'`) },
  { name: 'calls that no filter sees', command: () => then("perl -e 'exit(syscall(425, 0, 0) < 0 && $! == 38)'") },
  { name: 'a terminal', command: () => then(': > /dev/tty'), works: 'nobody' },
  { name: 'descriptors', command: () => then('[ "$(ls /proc/self/fd | tr -d "\\n")" != 0123 ]'), works: 'nobody' },
]
