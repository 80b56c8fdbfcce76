import { createHash } from 'node:crypto'
import { host } from './host.ts'
import type { Programs } from './programs.ts'
import type { Machine, SandboxLimits } from './runner.ts'

/** What the kernel allows this process, and in which namespaces: a container has others than its host. */
const statusLines = /^(?:Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs|Seccomp)\w*:.*$/gm
const namespaces = ['user', 'mnt', 'pid', 'net', 'cgroup', 'ipc', 'uts']
const kernelFiles = [
  '/proc/sys/kernel/random/boot_id',
  '/proc/sys/kernel/osrelease',
  '/proc/sys/kernel/unprivileged_userns_clone',
  '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
  '/proc/sys/user/max_user_namespaces',
  '/proc/self/attr/current',
]

/** A proof that the sandbox confines, in a file of the home. It counts until anything changes that it depends on. */
interface KeptProof {
  holds(): Promise<boolean>
  keep(): Promise<void>
}

/** Without a file nothing is kept: the sandbox is tested each time. */
export function proofCache(
  file: string | undefined,
  { programs, confines, machine }: { programs: Programs; confines: SandboxLimits; machine: Machine },
): KeptProof {
  const facts = async () => {
    const found = [
      // Another version of the program may test more.
      await host.identity(import.meta.filename),
      ...[confines, machine.self],
      ...(await Promise.all(Object.values(programs).map(async (path) => [path, await host.identity(path)]))),
      ...(await Promise.all(kernelFiles.map(host.text))),
      ...(await Promise.all(namespaces.map((name) => host.link(`/proc/self/ns/${name}`)))),
      ...((await host.text('/proc/self/status'))?.match(statusLines) ?? []),
    ]
    return `${createHash('sha256').update(JSON.stringify(found)).digest('hex')}\n`
  }
  return {
    holds: async () => file !== undefined && (await host.text(file)) === (await facts()),
    async keep() {
      // A home that cannot be written is told of elsewhere.
      if (file !== undefined) await host.writeText(file, await facts()).catch(() => undefined)
    },
  }
}
