# The list of all recipes as JSON, which the scripts read.
#
#   cmake [-DCHAPTERS=<folder>] -P chapters/manifest.cmake <file>     writes it without configuring anything
#
# Configure writes the same into build/recipes.json, and there it also says which packages are missing.

# parse_recipe(<name> <argument>...): the arguments of recipe() as arg_NEEDS and so on; folder, dir and bench (a source).
macro(parse_recipe recipe_name)
  cmake_parse_arguments(arg "ALONE;STREAMS" "TEST_TIMEOUT;ARCHITECTURE" "NEEDS;BENCH_NEEDS;USES;TEST_USES;RUN;PROGRAMS;PITFALLS;LIBS;LABELS;WITHOUT_TYPE_CHECKS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "recipe(${recipe_name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_RUN)
    set(arg_RUN plain)
  endif()
  cmake_path(GET CMAKE_CURRENT_LIST_DIR FILENAME folder)
  set(dir ${CMAKE_CURRENT_LIST_DIR}/${recipe_name})
  file(GLOB bench ${dir}/${recipe_name}_bench.cpp ${dir}/${recipe_name}_bench.cu)
endmacro()

# record_recipe(<name> <configured> <missing> <bench_missing>): a recipe that has been parsed is in the list.
function(record_recipe name configured missing bench_missing)
  list(JOIN arg_RUN " " launcher)
  set(json "  {\"name\": \"${name}\", \"chapter\": \"${folder}\", \"launcher\": \"${launcher}\"")
  foreach(key IN ITEMS needs uses bench_needs test_uses programs pitfalls)
    string(TOUPPER ${key} argument)
    list(FILTER arg_${argument} EXCLUDE REGEX "^sm_[0-9]+$")  # an architecture of CUDA, which nobody can install
    list(JOIN arg_${argument} "\", \"" words)
    if(words)
      string(APPEND json ", \"${key}\": [\"${words}\"]")
    endif()
  endforeach()
  cmake_path(GET bench STEM program)
  string(APPEND json ", \"bench\": \"${program}\", \"configured\": ${configured}, \"missing\": \"${missing}\", "
         "\"bench_missing\": \"${bench_missing}\"}")
  set_property(GLOBAL APPEND PROPERTY cookbook_manifest "${json}")
endfunction()

# list_chapter(<folder>): its recipes are recorded, and nothing is made of them.
function(list_chapter chapter)
  set(COOKBOOK_LIST_ONLY TRUE)
  include(${chapter}/CMakeLists.txt)
endfunction()

function(write_manifest file)
  get_property(recipes GLOBAL PROPERTY cookbook_manifest)
  list(JOIN recipes ",\n" recipes)
  file(WRITE ${file} "[\n${recipes}\n]\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  function(recipe name)
    parse_recipe(${name} ${ARGN})
    record_recipe(${name} false "" "")
  endfunction()
  if(NOT CHAPTERS)
    set(CHAPTERS ${CMAKE_CURRENT_LIST_DIR})
  endif()
  file(GLOB chapters ${CHAPTERS}/[0-9][0-9]_*/CMakeLists.txt)
  foreach(chapter IN LISTS chapters)
    cmake_path(GET chapter PARENT_PATH chapter)
    list_chapter(${chapter})
  endforeach()
  math(EXPR last "${CMAKE_ARGC} - 1")
  write_manifest(${CMAKE_ARGV${last}})
endif()
