import type { Endpoint } from '../api/endpoint.ts'
import { changeApiKey, createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys.ts'
import { listAuditLog } from './audit-log.ts'
import { putErrorType } from './error-types.ts'
import {
  activateKnowledgeDocVersion,
  changeKnowledgeDoc,
  createKnowledgeDoc,
  createKnowledgeDocVersion,
  deleteKnowledgeDoc,
} from './knowledge-docs.ts'
import { createOrganization, recoverApiKey } from './orgs.ts'
import { changeProject, createProject, deleteProject, listProjects } from './projects.ts'
import { activatePromptVersion, createPrompt, createPromptVersion, deletePrompt } from './prompts.ts'
import { beginSession, endSession, getSession, listOwnOrganizations } from './session.ts'
import { createSignInLink } from './sign-in-links.ts'
import { deleteTrace } from './traces.ts'
import { changeUser, createUser, deleteUser, listUsers } from './users.ts'

export const manage: readonly Endpoint[] = [
  deleteTrace,
  createPrompt,
  createPromptVersion,
  activatePromptVersion,
  deletePrompt,
  createKnowledgeDoc,
  createKnowledgeDocVersion,
  activateKnowledgeDocVersion,
  changeKnowledgeDoc,
  deleteKnowledgeDoc,
  createOrganization,
  recoverApiKey,
  listProjects,
  createProject,
  changeProject,
  deleteProject,
  putErrorType,
  listApiKeys,
  createApiKey,
  changeApiKey,
  revokeApiKey,
  rotateApiKey,
  listUsers,
  createUser,
  changeUser,
  deleteUser,
  listAuditLog,
  beginSession,
  getSession,
  listOwnOrganizations,
  endSession,
  createSignInLink,
]
