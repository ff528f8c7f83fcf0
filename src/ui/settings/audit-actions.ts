import type { AuditAction } from '../../store/accounts/audit.ts'

/** The label for each action in the log. */
const LABELS: Readonly<Record<AuditAction, string>> = {
  'organization.create': 'Organization created',
  'project.create': 'Project created',
  'project.change': 'Project changed',
  'project.delete': 'Project deleted',
  'api_key.create': 'API key created',
  'api_key.change': 'API key changed',
  'api_key.revoke': 'API key revoked',
  'api_key.rotate': 'API key replaced',
  'user.create': 'User added',
  'user.change': 'User changed',
  'user.delete': 'User deleted',
  'session.begin': 'Signed in',
  'session.end': 'Signed out',
  'sign_in_link.create': 'Sign-in link created',
  'trace.delete': 'Trace deleted',
  'prompt.create': 'Prompt created',
  'prompt.add_version': 'Prompt version added',
  'prompt.activate': 'Prompt version activated',
  'prompt.roll_back': 'Prompt version rolled back',
  'prompt.delete': 'Prompt deleted',
  'knowledge_doc.create': 'Knowledge doc created',
  'knowledge_doc.add_version': 'Knowledge doc version added',
  'knowledge_doc.activate': 'Knowledge doc version activated',
  'knowledge_doc.change': 'Knowledge doc renamed',
  'knowledge_doc.delete': 'Knowledge doc deleted',
  'review.accept': 'Output accepted',
  'review.correct': 'Output corrected',
  'review.reset': 'Review undone',
  'review.import': 'Review imported',
  'review.vote': 'Voted on an output',
  'review.assign': 'Review assigned',
  'review.unassign': 'Review unassigned',
  'comment.create': 'Comment posted',
  'comment.change': 'Comment edited',
  'comment.delete': 'Comment deleted',
  'error_type.change': 'Error type changed',
  'step_names.change': 'Steps renamed',
  'dataset.create': 'Dataset created',
  'dataset.import': 'Examples imported',
  'dataset.change_item': 'Dataset item changed',
  'dataset.set_evaluator': 'Evaluator changed',
  'gate.set': 'Gate set',
  'gate.delete': 'Gate deleted',
  'view.save': 'Shared view saved',
  'view.delete': 'Shared view deleted',
  'guideline.set': 'Guideline changed',
  'review_policy.set': 'Review policy changed',
  'problem.change': 'Problem changed',
  'problem.suggest': 'Prompt version requested from a model',
  'webhook.create': 'Webhook created',
  'webhook.change': 'Webhook changed',
  'webhook.delete': 'Webhook deleted',
  'webhook.rotate_secret': 'Webhook secret replaced',
  'webhook.test': 'Test event sent',
  'webhook.replay': 'Webhook delivery sent again',
  'webhook.switch_off': 'Webhook disabled automatically',
}

/** The actions to filter by. */
export const AUDIT_ACTION_OPTIONS = Object.entries(LABELS).map(([value, label]) => ({ value, label }))

const labels = new Map<string, string>(Object.entries(LABELS))

/** An action's label. Unknown actions are shown unchanged. */
export const auditActionLabel = (action: string): string => labels.get(action) ?? action
