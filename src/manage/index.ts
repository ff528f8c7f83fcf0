import type { Endpoint } from '../api/endpoint.ts'
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey, updateApiKey } from './api-keys.ts'
import { listAuditLog } from './audit-log.ts'
import { putErrorType } from './error-types.ts'
import { putGuideline } from './guidelines.ts'
import {
  activateKnowledgeDocVersion,
  createKnowledgeDoc,
  createKnowledgeDocVersion,
  deleteKnowledgeDoc,
  updateKnowledgeDoc,
} from './knowledge-docs.ts'
import { createOrganization, recoverApiKey } from './orgs.ts'
import { createProject, deleteProject, listProjects, updateProject } from './projects.ts'
import { activatePromptVersion, createPrompt, createPromptVersion, deletePrompt } from './prompts.ts'
import { putReviewPolicy } from './review-policy.ts'
import { beginSession, endSession, getSession, listOwnOrganizations } from './session.ts'
import { createSignInLink } from './sign-in-links.ts'
import { putStepNames } from './step-names.ts'
import { deleteTrace, postTraceDeletions } from './traces.ts'
import { createUser, deleteUser, listUsers, updateUser } from './users.ts'

export const manage: readonly Endpoint[] = [
  deleteTrace,
  postTraceDeletions,
  createPrompt,
  createPromptVersion,
  activatePromptVersion,
  deletePrompt,
  createKnowledgeDoc,
  createKnowledgeDocVersion,
  activateKnowledgeDocVersion,
  updateKnowledgeDoc,
  deleteKnowledgeDoc,
  createOrganization,
  recoverApiKey,
  listProjects,
  createProject,
  updateProject,
  deleteProject,
  putErrorType,
  putStepNames,
  putGuideline,
  putReviewPolicy,
  listApiKeys,
  createApiKey,
  updateApiKey,
  revokeApiKey,
  rotateApiKey,
  listUsers,
  createUser,
  updateUser,
  deleteUser,
  listAuditLog,
  beginSession,
  getSession,
  listOwnOrganizations,
  endSession,
  createSignInLink,
]
