/**
 * plain: what heddle trusts lies outside of the folder, and the folder has repositories. inside: home, config, compiled
 * code and agents lie in the folder. package: heddle's own program does. runtime: the socket's directory does. asking:
 * commands have no sandbox and need a yes. around: the folder is part of other repositories, and configuration of git that
 * lies outside leads into it.
 */
export const arenaKinds = ['plain', 'inside', 'package', 'runtime', 'asking', 'around'] as const
export type ArenaKind = (typeof arenaKinds)[number]

/** The heddle that is attacked. */
export interface Program {
  /** What Node is given. */
  file: string
  /** The package's directory, and where its dependencies are. */
  root: string
  modules: string
  isInstalled: boolean
}

/** Where everything of an arena is. */
export interface Paths {
  root: string
  folder: string
  /** Holds secrets. */
  outside: string
  /** Code of the attacker that ran with the owner's rights leaves a file here. */
  ran: string
  /** The owner's home directory. */
  user: string
  /** Heddle's home. */
  home: string
  temporary: string
  runtime: string
  config: string | undefined
  skills: string
}
