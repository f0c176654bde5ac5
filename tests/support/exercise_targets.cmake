# A target exercise_<name> for each exercise that a learner has begun: their copy of the program, built as the recipe's
# own one is, but only when it is asked for (ninja -C build exercise_lock_race). So it also has its entry in
# compile_commands.json, where an editor looks for the headers of the recipe. scripts/exercise start writes
# exercises/<name>/exercise.cmake, which calls this function.

# exercise(<name> <program> SOURCE <file> [BESIDE <file>...]): like the target <program>. SOURCE is the learner's program;
# or, where they write a header or a kernel, the recipe's own program, which is copied together with the files BESIDE it
# into a folder of the build, so that it finds the learner's file and not the recipe's.
function(exercise name program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SOURCE" "BESIDE")
  if(NOT TARGET ${program})
    return()  # the recipe is not built on this machine
  endif()
  get_filename_component(learners ${CMAKE_CURRENT_LIST_FILE} DIRECTORY)
  get_target_property(recipe_folder ${program} SOURCES)
  list(GET recipe_folder 0 recipe_folder)
  get_filename_component(recipe_folder ${recipe_folder} DIRECTORY)
  set(source ${arg_SOURCE})
  if(arg_BESIDE)
    set(place ${CMAKE_BINARY_DIR}/exercises/${name})
    foreach(file IN LISTS arg_SOURCE arg_BESIDE)
      get_filename_component(short ${file} NAME)
      configure_file(${file} ${place}/${short} COPYONLY)
    endforeach()
    get_filename_component(short ${arg_SOURCE} NAME)
    set(source ${place}/${short})
  endif()
  add_executable(exercise_${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(exercise_${name} BEFORE PRIVATE ${learners})
  foreach(property IN ITEMS LINK_LIBRARIES LINK_OPTIONS COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES
                            CUDA_ARCHITECTURES CUDA_SEPARABLE_COMPILATION)
    get_target_property(value ${program} ${property})
    if(value)
      set_target_properties(exercise_${name} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  target_compile_options(exercise_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-error>)  # a warning is no mistake
  get_target_property(include ${program} INCLUDE_DIRECTORIES)
  target_include_directories(exercise_${name} PRIVATE ${include} ${recipe_folder})
endfunction()

function(exercises_begun)
  file(GLOB begun CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/exercises/*/exercise.cmake)
  foreach(file IN LISTS begun)
    include(${file})
  endforeach()
endfunction()

# At the end of all, when the recipes' targets exist.
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL exercises_begun)
