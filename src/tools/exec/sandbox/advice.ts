import { host } from './host.ts'

/** Why commands cannot run here, and the remedy. */
export interface Obstacle {
  why: string
  remedy: string
}

export const minVersion = [0, 8] as const

/** Facts about the system from which the remedy follows. */
export interface SystemFacts {
  /** Text of /etc/os-release. */
  release: string
  /** Value of kernel.apparmor_restrict_unprivileged_userns and of user.max_user_namespaces, if they exist. */
  apparmor: string | undefined
  namespaces: string | undefined
  unprivileged: string | undefined
  isContainer: boolean
}

export async function systemFacts(): Promise<SystemFacts> {
  const sysctl = async (name: string) => (await host.text(`/proc/sys/${name}`))?.trim()
  const marks = await Promise.all(['/.dockerenv', '/run/.containerenv'].map((path) => host.realPath(path)))
  return {
    release: (await host.text('/etc/os-release')) ?? '',
    apparmor: await sysctl('kernel/apparmor_restrict_unprivileged_userns'),
    namespaces: await sysctl('user/max_user_namespaces'),
    unprivileged: await sysctl('kernel/unprivileged_userns_clone'),
    isContainer: marks.some((mark) => mark !== undefined),
  }
}

export function notThisSystem(platform: NodeJS.Platform): Obstacle {
  const name = platform === 'darwin' ? 'macOS' : platform
  return { why: `there is no sandbox for ${name} yet`, remedy: 'run heddle on Linux, in a virtual machine for example' }
}

/** Reports a missing package. */
export function notInstalled(name: string, facts: SystemFacts): Obstacle {
  return { why: `${name} is not installed`, remedy: installing(name, facts) }
}

export function tooOld(version: string, facts: SystemFacts): Obstacle {
  const why = `bubblewrap ${version} is too old: ${minVersion.join('.')} or newer is needed`
  return { why, remedy: `upgrade the system, or: ${installing('bubblewrap', facts)}` }
}

/** Reports a bubblewrap that does not confine commands. */
export function notConfining(why: string, facts: SystemFacts): Obstacle {
  return { why, remedy: `remove the program bwrap, then: ${installing('bubblewrap', facts)}` }
}

/** Reports why an installed bubblewrap does not work, as far as the system tells. */
export function notWorking(why: string, facts: SystemFacts): Obstacle {
  if (facts.namespaces === '0')
    return { why, remedy: 'sudo sysctl -w user.max_user_namespaces=15000 (and in /etc/sysctl.d to keep it)' }
  if (facts.unprivileged === '0')
    return { why, remedy: 'sudo sysctl -w kernel.unprivileged_userns_clone=1 (and in /etc/sysctl.d to keep it)' }
  if (facts.isContainer) return { why, remedy: containerFlags }
  if (facts.apparmor === '1') return { why, remedy: apparmorProfile }
  return { why, remedy: 'bwrap --unshare-all --ro-bind /usr /usr --symlink usr/lib64 /lib64 /usr/bin/true tells more' }
}

/** Ubuntu 24.04 lets only programs with a profile create user namespaces. */
const apparmorProfile =
  "printf 'abi <abi/4.0>,\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\\n' | " +
  'sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap'

const containerFlags =
  'start the container with: --security-opt seccomp=unconfined --security-opt apparmor=unconfined ' +
  '--security-opt systempaths=unconfined'

function installing(name: string, { release }: SystemFacts): string {
  const family = /^ID(?:_LIKE)?=(.*)$/gm
  const words = [...release.matchAll(family)].flatMap(([, ids = '']) => ids.replaceAll('"', '').split(' '))
  const known = words.find((word) => Object.hasOwn(installers, word))
  return known === undefined ? `install ${name} with your package manager` : `sudo ${installers[known]} ${name}`
}

const installers: Record<string, string> = {
  debian: 'apt-get install -y',
  ubuntu: 'apt-get install -y',
  fedora: 'dnf install -y',
  rhel: 'dnf install -y',
  arch: 'pacman -S --noconfirm',
  suse: 'zypper install -y',
  opensuse: 'zypper install -y',
  alpine: 'apk add',
}
