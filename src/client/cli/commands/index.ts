import type { Command } from '../command.ts'
import { attributeTrace } from './attribute.ts'
import { exportDataset } from './datasets-export.ts'
import { importDataset } from './datasets-import.ts'
import { runExperiment } from './experiment-run.ts'
import { importExports } from './import.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { activatePrompt } from './prompts-activate.ts'
import { diffPrompts } from './prompts-diff.ts'
import { showGates } from './prompts-gate.ts'
import { pullPrompts } from './prompts-pull.ts'
import { pushPrompts } from './prompts-push.ts'
import { reviewAccept } from './review-accept.ts'
import { reviewCorrect } from './review-correct.ts'
import { reviewNext } from './review-next.ts'
import { exportTraces } from './traces-export.ts'
import { listTraces } from './traces-list.ts'
import { showTrace } from './traces-show.ts'

/** Every command, in the order of the help and of docs/cli.md. */
export const commands: readonly Command[] = [
  login,
  logout,
  listTraces,
  showTrace,
  exportTraces,
  reviewNext,
  reviewAccept,
  reviewCorrect,
  pullPrompts,
  pushPrompts,
  diffPrompts,
  activatePrompt,
  showGates,
  exportDataset,
  importDataset,
  runExperiment,
  attributeTrace,
  importExports,
]
