import { recordTrial, type Trial, testNamedModel } from '../../../app/models.ts'
import type { Config, NamedModel } from '../../../config/config.ts'
import type { TrialKind } from '../../../domain/spending.ts'
import { homePaths } from '../../../home/home.ts'
import type { CommandContext } from '../../command.ts'

/** Tests a model for a command, and records the cost if this home has a database. */
export function recordedTrial(
  here: CommandContext,
  config: Config,
  kind: TrialKind,
  name: string,
  named: NamedModel,
): Promise<Trial> {
  const { clock, stopped: signal, env, tell } = here
  const paths = { ...homePaths(here.home), config: here.configFile }
  return recordTrial(kind, { paths, config, env, tell }, (onCall) =>
    testNamedModel(name, named, { clock, signal, onCall }),
  )
}
