import type { UserGit } from './path-handle.ts'

/**
 * Configuration files of the system and of the user. All that git may read count: the user's shell may have another
 * environment than this process.
 */
export function userGitOf(env: Readonly<Record<string, string | undefined>>, home: string): UserGit {
  const { XDG_CONFIG_HOME, GIT_CONFIG_SYSTEM, GIT_CONFIG_GLOBAL } = env
  const configs = [
    ...['/etc/gitconfig', '/usr/local/etc/gitconfig', '/opt/homebrew/etc/gitconfig', GIT_CONFIG_SYSTEM],
    ...[XDG_CONFIG_HOME && `${XDG_CONFIG_HOME}/git/config`, `${home}/.config/git/config`, `${home}/.gitconfig`],
    GIT_CONFIG_GLOBAL,
  ]
  return { home, configs: [...new Set(configs)].filter((path) => path?.startsWith('/') === true) as string[] }
}
